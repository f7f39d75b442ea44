//! Plain-language pairs that nothing was tuned on: written before the rules they test, in other
//! sentence patterns and on other subjects than [`plain`](super::plain).

/// A hypothesis and its premises, each with its verdict: `+` supports, `-` refutes, `0` neutral.
#[rustfmt::skip]
pub(crate) const HELD_OUT: &[(&str, &[(&str, char)])] = &[
    ("Drinking green tea lowers blood pressure", &[
        ("Volunteers who drank green tea every day had lower blood pressure after twelve weeks.", '+'),
        ("Blood pressure was no lower in the green tea group than in the water group.", '-'),
        ("Drinking green tea whitened the teeth of volunteers.", '0'),
        ("Beetroot juice lowered blood pressure in volunteers.", '0'),
    ]),
    ("Standing desks reduce back pain", &[
        ("Office workers reported less back pain after they were given standing desks.", '+'),
        ("Standing desks made no difference to back pain.", '-'),
        ("Standing desks increased the number of steps that office workers took.", '0'),
        ("Massage reduced back pain within a week.", '0'),
    ]),
    ("A four-day week lowers output", &[
        ("Output dropped by a tenth at firms that moved to a four-day week.", '+'),
        ("Firms that moved to a four-day week kept their output unchanged.", '-'),
        ("Output rose after the four-day week was introduced.", '-'),
        ("Sick leave fell at firms that moved to a four-day week.", '0'),
    ]),
    ("Go programs start faster than Java programs", &[
        ("Java programs start more slowly than Go programs.", '+'),
        ("Go programs started slower than Java programs in every run.", '-'),
        ("Go programs use less memory than Java programs.", '0'),
        ("Rust programs start faster than C++ programs.", '0'),
    ]),
    ("The new index speeds up queries", &[
        ("Queries ran twice as fast with the new index.", '+'),
        ("With the new index, queries were slower.", '-'),
        ("The new index did not speed up queries.", '-'),
        ("The new index takes up 40 gigabytes on disk.", '0'),
    ]),
    ("Carbon taxes reduce emissions", &[
        ("Emissions fell by 9% after the carbon tax was introduced.", '+'),
        ("Emissions did not fall in provinces with a carbon tax.", '-'),
        ("Carbon taxes raised the price of petrol.", '0'),
        ("Methane leaks from wells are larger than reported.", '0'),
    ]),
    ("Arctic sea ice is shrinking", &[
        ("The area of Arctic sea ice has declined by 13% per decade.", '+'),
        ("Arctic sea ice has not shrunk since 1979.", '-'),
        ("Antarctic penguins breed on sea ice.", '0'),
        ("Arctic air temperature has risen four times faster than the global mean.", '0'),
    ]),
    ("Rent control lowers rents", &[
        ("Rents were lower in districts with rent control.", '+'),
        ("Rent control raised rents in the long run.", '-'),
        ("Rent control reduced the number of new flats.", '0'),
    ]),
    ("Higher minimum wages increase unemployment", &[
        ("Unemployment among the young went up when the minimum wage was raised.", '+'),
        ("Raising the minimum wage had no effect on unemployment.", '-'),
        ("Higher minimum wages increased the earnings of waiters.", '0'),
    ]),
    ("The plague arrived in England in 1348", &[
        ("In 1348 the plague arrived in England.", '+'),
        ("The plague arrived in England in 1361, not in 1348.", '-'),
        ("The plague killed a third of the people of Florence.", '0'),
    ]),
    ("Roman concrete lasts longer than modern concrete", &[
        ("Roman concrete outlasts modern concrete by centuries.", '+'),
        ("Modern concrete lasts longer than Roman concrete.", '-'),
        ("Roman concrete was mixed with volcanic ash.", '0'),
    ]),
    ("Mediterranean diets reduce the risk of heart disease", &[
        ("People on a Mediterranean diet had fewer cases of heart disease.", '+'),
        ("The risk of heart disease was the same on a Mediterranean diet as on a low-fat diet.", '-'),
        ("Mediterranean diets reduce the risk of breast cancer.", '0'),
        ("Mediterranean diets cost more than low-fat diets.", '0'),
    ]),
    ("Salt intake raises blood pressure", &[
        ("Blood pressure rises with salt intake.", '+'),
        ("Salt intake was not related to blood pressure.", '-'),
        ("Salt intake raised the risk of stomach cancer.", '0'),
    ]),
    ("Sugary drinks cause weight gain", &[
        ("Children who had sugary drinks every day gained more weight.", '+'),
        ("Sugary drinks did not lead to weight gain.", '-'),
        ("Sugary drinks damage the teeth of children.", '0'),
    ]),
    ("Electric cars are cheaper to run than petrol cars", &[
        ("Running an electric car costs less than running a petrol car.", '+'),
        ("Electric cars are more expensive to run than petrol cars.", '-'),
        ("Electric cars are heavier than petrol cars.", '0'),
    ]),
    ("Class size affects test scores", &[
        ("Pupils in smaller classes had higher test scores.", '+'),
        ("Test scores did not depend on class size.", '-'),
        ("Class size affects how tired teachers are.", '0'),
    ]),
    ("Compression makes backups smaller", &[
        ("Backups shrank by 60% once compression was switched on.", '+'),
        ("Compression left the size of backups unchanged.", '-'),
        ("Compression slowed backups down by a third.", '0'),
    ]),
    ("Older drivers cause more accidents", &[
        ("Older drivers had more accidents per mile.", '+'),
        ("Older drivers had fewer accidents than younger drivers.", '-'),
        ("Older drivers buy larger cars.", '0'),
    ]),
    ("Street lighting reduces crime", &[
        ("Crime was reduced by a fifth where street lighting was installed.", '+'),
        ("There was as much crime as before after street lighting was installed.", '-'),
        ("Street lighting harms moths.", '0'),
    ]),
    ("The railway shortened the journey from London to York", &[
        ("With the railway, the journey from London to York became shorter by two days.", '+'),
        ("The railway did not shorten the journey from London to York.", '-'),
        ("The railway raised the price of land in York.", '0'),
    ]),
    ("Tea exports from China fell in the 1890s", &[
        ("In the 1890s China's tea exports declined.", '+'),
        ("China's tea exports grew in the 1890s.", '-'),
        ("Silk exports from China fell in the 1890s.", '0'),
    ]),
    ("Screen time before bed delays sleep", &[
        ("Children fell asleep later when they had screen time before bed.", '+'),
        ("Screen time before bed did not delay sleep.", '-'),
        ("Screen time before bed strained the eyes.", '0'),
    ]),
    ("Caching reduces latency", &[
        ("Latency was 40 ms lower with caching than without it.", '+'),
        ("Caching increased latency under load.", '-'),
        ("Latency was the same with and without caching.", '-'),
        ("Caching reduces the load on the database.", '0'),
    ]),
    ("Wind farms lower house prices", &[
        ("House prices near wind farms dropped by 4%.", '+'),
        ("House prices near wind farms were no different from those elsewhere.", '-'),
        ("Wind farms lower the price of electricity.", '0'),
    ]),
    ("緑茶は血圧を下げる", &[
        ("緑茶を飲んだ群では血圧が下がった。", '+'),
        ("緑茶は血圧を下げなかった。", '-'),
        ("緑茶は虫歯を減らした。", '0'),
        ("牛乳は血圧を下げた。", '0'),
    ]),
    ("炭素税は排出量を減らす", &[
        ("炭素税の導入後、排出量は減少した。", '+'),
        ("炭素税を導入しても排出量は減らなかった。", '-'),
        ("炭素税はガソリンの価格を上げた。", '0'),
    ]),
];
