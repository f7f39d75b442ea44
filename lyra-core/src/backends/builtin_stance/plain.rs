//! Plain-language pairs from many fields that the rules were written with. Neutral premises share
//! most words with their hypothesis: they speak of another outcome, or of another cause.

/// A hypothesis and its premises, each with its verdict: `+` supports, `-` refutes, `0` neutral.
#[rustfmt::skip]
pub(crate) const PLAIN: &[(&str, &[(&str, char)])] = &[
    ("Night work shortens sleep", &[
        ("Night work was associated with shorter sleep in 1,204 bus drivers: sleep after night shifts was 92 minutes shorter than after day shifts.", '+'),
        ("Night work shortened total sleep by 74 minutes a day compared with day work.", '+'),
        ("In a cohort of 230 prison guards, night work did not shorten sleep: total sleep time was the same on night shifts and on day shifts.", '-'),
        ("Older drivers recovered more slowly after night work.", '0'),
        ("Guards who could nap at work reported better alertness at night.", '0'),
        ("Noise shortened sleep in hospital wards.", '0'),
    ]),
    ("Night work shortened total sleep by 74 minutes a day compared with day work (95% CI 61 to 87).", &[
        ("Older drivers recovered more slowly after night work.", '0'),
        ("In a randomised trial of 180 nurses, night work did not shorten sleep when naps were allowed: total sleep was the same as in day work.", '-'),
    ]),
    ("In a cohort of 230 prison guards, night work did not shorten sleep: total sleep time was the same on night shifts and on day shifts.", &[
        ("Night work was associated with shorter sleep in 1,204 bus drivers: sleep after night shifts was 92 minutes shorter than after day shifts.", '-'),
        ("Older drivers recovered more slowly after night work.", '0'),
        ("Guards who could nap at work reported better alertness at night.", '0'),
    ]),
    ("Older drivers recovered more slowly after night work.", &[
        ("Night work shortened total sleep by 74 minutes a day compared with day work. Nurses on permanent nights slept less than nurses on rotating shifts.", '0'),
        ("After night work, recovery was slower in older drivers.", '+'),
        ("Older drivers recovered faster than younger drivers after night work.", '-'),
    ]),
    ("Guards who could nap at work reported better alertness at night.", &[
        ("Night work was associated with shorter sleep in 1,204 bus drivers: sleep after night shifts was 92 minutes shorter than after day shifts.", '0'),
        ("Guards who could nap at work had better alertness.", '+'),
        ("Naps at work did not improve the alertness of guards.", '-'),
    ]),
    ("Rust is faster than Python", &[
        ("Python is slower than Rust.", '+'),
        ("Python is faster than Rust.", '-'),
        ("Rust is slower than Python.", '-'),
        ("Rust is faster than Perl.", '0'),
        ("Rust is younger than Python.", '0'),
        ("Rust programs use less memory than Python programs.", '0'),
    ]),
    ("PostgreSQL handles more writes per second than MySQL", &[
        ("MySQL handled fewer writes per second than PostgreSQL.", '+'),
        ("MySQL handles more writes per second than PostgreSQL.", '-'),
        ("PostgreSQL and MySQL handled the same number of writes per second.", '-'),
        ("PostgreSQL supports more data types than MySQL.", '0'),
    ]),
    ("Index compression reduces memory use", &[
        ("Memory use fell by 30% with index compression.", '+'),
        ("Index compression did not reduce memory use.", '-'),
        ("Memory use was the same with and without index compression.", '-'),
        ("Index compression slows down queries.", '0'),
        ("Garbage collection reduces memory use.", '0'),
    ]),
    ("The tariff raised the price of steel", &[
        ("Steel prices rose after the tariff.", '+'),
        ("The price of steel fell after the tariff.", '-'),
        ("The tariff had no effect on the price of steel.", '-'),
        ("The tariff raised the price of washing machines.", '0'),
        ("The strike raised the price of steel.", '0'),
    ]),
    ("Immigration lowers wages", &[
        ("Wages fell in cities with more immigration.", '+'),
        ("Immigration had no effect on wages.", '-'),
        ("Immigration raised wages.", '-'),
        ("Immigration lowers the average age of the population.", '0'),
    ]),
    ("Inflation fell in 2023", &[
        ("Inflation dropped from 8% to 3.4% in 2023.", '+'),
        ("Inflation rose in 2023.", '-'),
        ("Employment fell in 2023.", '0'),
        ("Inflation is measured with a basket of goods.", '0'),
    ]),
    ("Global sea level is rising", &[
        ("Global sea level rose by 20 cm over the last century.", '+'),
        ("Global sea level has not risen.", '-'),
        ("Global sea temperature is rising.", '0'),
    ]),
    ("Droughts reduce wheat yields", &[
        ("Wheat yields were lower in drought years.", '+'),
        ("Drought did not reduce wheat yields.", '-'),
        ("Drought reduced the flow of the river.", '0'),
        ("Irrigation increased wheat yields.", '0'),
    ]),
    ("Vitamin C prevents colds", &[
        ("People who took vitamin C had fewer colds.", '+'),
        ("People who took vitamin C had as many colds as those who did not.", '-'),
        ("Vitamin C did not prevent colds.", '-'),
        ("Vitamin C prevents scurvy.", '0'),
        ("Vitamin D prevents fractures.", '0'),
    ]),
    ("Fibre lowers cholesterol", &[
        ("Cholesterol was lower in people who ate more fibre.", '+'),
        ("Fibre did not change cholesterol.", '-'),
        ("Fibre relieves constipation.", '0'),
        ("Eggs raise cholesterol.", '0'),
    ]),
    ("Walking to work improves mood", &[
        ("Mood was better on days when people walked to work.", '+'),
        ("Walking to work did not improve mood.", '-'),
        ("Mood worsened among people who walked to work.", '-'),
        ("Walking to work takes longer than driving to work.", '0'),
    ]),
    ("The bridge was completed in 1894", &[
        ("Workers completed the bridge in 1894.", '+'),
        ("The bridge was completed in 1899, not in 1894.", '-'),
        ("The bridge was painted in 1894.", '0'),
    ]),
    ("The army of Napoleon was larger than the army of Wellington", &[
        ("Wellington's army was smaller than Napoleon's army.", '+'),
        ("Wellington's army was larger than Napoleon's army.", '-'),
        ("Napoleon's army marched faster than Wellington's army.", '0'),
    ]),
    ("Vaccinated children have fewer infections", &[
        ("Infections were less common in vaccinated children.", '+'),
        ("Vaccinated children had as many infections as other children.", '-'),
        ("Vaccinated children had more infections than other children.", '-'),
        ("Vaccinated children visited the dentist more often.", '0'),
    ]),
    ("Trains emit less carbon than planes", &[
        ("Planes emit more carbon than trains.", '+'),
        ("Trains emit more carbon than planes.", '-'),
        ("Trains are slower than planes.", '0'),
        ("Trains emit less noise than planes.", '0'),
    ]),
    ("Flights are more expensive in summer", &[
        ("Flights cost more in summer.", '+'),
        ("Flights are cheaper in summer.", '-'),
        ("Flights are longer in summer.", '0'),
        ("Hotels are more expensive in summer.", '0'),
    ]),
    ("Homework improves grades", &[
        ("Grades improved when homework was set.", '+'),
        ("There was no difference in grades between classes with and without homework.", '-'),
        ("Homework reduces the time that pupils spend on sport.", '0'),
        ("Private tutoring improves grades.", '0'),
    ]),
    ("Late meals raise blood sugar", &[
        ("Blood sugar was higher after late meals than after early meals.", '+'),
        ("Late meals did not raise blood sugar.", '-'),
        ("Blood sugar did not differ between late and early meals.", '-'),
        ("Late meals raise body temperature at night.", '0'),
    ]),
    ("The parser is slower than the old one", &[
        ("The parser was 20% slower than the old one.", '+'),
        ("The parser is faster than the old one.", '-'),
        ("The parser is longer than the old one.", '0'),
    ]),
    ("Tree planting cools cities", &[
        ("Cities with tree planting were cooler.", '+'),
        ("Tree planting did not cool cities.", '-'),
        ("Tree planting raises the value of homes in cities.", '0'),
    ]),
    ("Batching increases throughput", &[
        ("Throughput doubled with batching.", '+'),
        ("Batching lowered throughput.", '-'),
        ("Batching increases latency.", '0'),
    ]),
    ("夜勤は睡眠時間を短縮する", &[
        ("夜勤の後、睡眠時間は短縮した。", '+'),
        ("夜勤は睡眠時間を短縮しなかった。", '-'),
        ("夜勤は食欲を低下させた。", '0'),
        ("騒音は睡眠時間を短縮した。", '0'),
    ]),
    ("暗号化は処理速度を低下させる", &[
        ("暗号化により処理速度は低下した。", '+'),
        ("暗号化は処理速度を低下させなかった。", '-'),
        ("暗号化は安全性を高めた。", '0'),
    ]),
];
