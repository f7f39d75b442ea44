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
    ("Night work was associated with shorter sleep in 1,204 bus drivers: sleep after night shifts was 92 minutes shorter than after day shifts.", &[
        ("Night work shortened total sleep by 74 minutes a day compared with day work (95% CI 61 to 87). Nurses on permanent nights slept less than nurses on rotating shifts.", '+'),
        ("In a cohort of 230 prison guards, night work did not shorten sleep: total sleep time was the same on night shifts and on day shifts.", '-'),
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
    ("Cats sleep longer than dogs", &[
        ("Dogs sleep less than cats.", '+'),
        ("Dogs sleep longer than cats.", '-'),
        ("Cats eat less than dogs.", '0'),
    ]),
    ("The vaccine protects against measles", &[
        ("Measles cases fell after the vaccine was introduced.", '+'),
        ("The vaccine gave no protection against measles.", '-'),
        ("The vaccine protects against mumps.", '0'),
        ("The vaccine causes a sore arm.", '0'),
    ]),
    ("Ice cream sales rise with temperature", &[
        ("When the temperature rose, ice cream sales increased.", '+'),
        ("Ice cream sales did not change with temperature.", '-'),
        ("Beer sales rise with temperature.", '0'),
        ("Ice cream sales rise at weekends.", '0'),
    ]),
    ("Interest rate cuts boost investment", &[
        ("Investment grew after interest rates were cut.", '+'),
        ("Interest rate cuts had no effect on investment.", '-'),
        ("Interest rate cuts weaken the currency.", '0'),
    ]),
    ("Remote teams ship fewer features", &[
        ("Remote teams shipped 12% fewer features than office teams.", '+'),
        ("Remote teams shipped as many features as office teams.", '-'),
        ("Remote teams hold fewer meetings.", '0'),
    ]),
    ("Solid-state disks make builds faster", &[
        ("Builds were faster on solid-state disks.", '+'),
        ("Builds were just as slow on solid-state disks.", '-'),
        ("Solid-state disks are more expensive than hard disks.", '0'),
    ]),
    ("Deforestation reduces rainfall", &[
        ("Rainfall was lower where deforestation was greatest.", '+'),
        ("There is no link between deforestation and rainfall.", '-'),
        ("Deforestation reduces the number of bird species.", '0'),
    ]),
    ("The Black Sea is warmer in July than in May", &[
        ("In May the Black Sea is colder than in July.", '+'),
        ("The Black Sea is colder in July than in May.", '-'),
        ("The Black Sea is saltier in July than in May.", '0'),
    ]),
    ("Unemployment is higher in the north than in the south", &[
        ("Unemployment is lower in the south than in the north.", '+'),
        ("Unemployment is higher in the south than in the north.", '-'),
        ("Unemployment is the same in the north and in the south.", '-'),
        ("Rents are higher in the north than in the south.", '0'),
    ]),
    ("Chocolate improves memory", &[
        ("Memory improved in students who ate chocolate.", '+'),
        ("Chocolate made memory worse.", '-'),
        ("Eating chocolate had no effect on memory.", '-'),
        ("Chocolate improves mood.", '0'),
        ("Blueberries improve memory.", '0'),
    ]),
    ("The new compiler produces smaller binaries than the old compiler", &[
        ("Binaries from the new compiler were smaller than those from the old compiler.", '+'),
        ("The new compiler produces larger binaries than the old compiler.", '-'),
        ("The new compiler produces fewer warnings than the old compiler.", '0'),
    ]),
    ("Rome had more inhabitants than Athens", &[
        ("Athens had fewer inhabitants than Rome.", '+'),
        ("Athens had more inhabitants than Rome.", '-'),
        ("Rome had more temples than Athens.", '0'),
    ]),
    ("Breakfast helps pupils concentrate", &[
        ("Pupils concentrated better after breakfast.", '+'),
        ("Breakfast did not help pupils concentrate.", '-'),
        ("Breakfast helps pupils gain weight.", '0'),
    ]),
    ("Peat bogs store more carbon than forests", &[
        ("Forests store less carbon than peat bogs.", '+'),
        ("Forests store more carbon than peat bogs.", '-'),
        ("Peat bogs hold more water than forests.", '0'),
    ]),
    ("Tolls reduce traffic", &[
        ("Traffic decreased by a fifth once tolls were introduced.", '+'),
        ("Traffic did not decrease once tolls were introduced.", '-'),
        ("Tolls led to more traffic.", '-'),
        ("Tolls reduce air pollution.", '0'),
    ]),
    ("Garlic lowers cholesterol", &[
        ("We gave garlic to 90 adults for twelve weeks. Cholesterol did not differ from placebo.", '-'),
        ("We gave garlic to 90 adults for twelve weeks. Cholesterol fell by 12 mg/dl.", '+'),
        ("We gave garlic to 90 adults for twelve weeks. Breath odour was worse than with placebo.", '0'),
    ]),
    ("Wolves limit deer numbers", &[
        ("Deer numbers fell when wolves returned.", '+'),
        ("Deer numbers rose after wolves returned.", '-'),
        ("Wolves limit coyote numbers.", '0'),
    ]),
    ("Printing lowered the price of books", &[
        ("Books became cheaper with printing.", '+'),
        ("Printing did not lower the price of books.", '-'),
        ("Printing raised literacy.", '0'),
    ]),
    ("Code review reduces bugs", &[
        ("Teams with code review had fewer bugs.", '+'),
        ("Teams with code review had just as many bugs as other teams.", '-'),
        ("Code review delays releases.", '0'),
        ("Unit tests reduce bugs.", '0'),
    ]),
    ("Coffee does not cause dehydration", &[
        ("Coffee did not lead to dehydration.", '+'),
        ("Coffee caused dehydration in runners.", '-'),
        ("Coffee does not cause heart disease.", '0'),
    ]),
    ("There is no difference in yield between organic and conventional farms", &[
        ("Organic and conventional farms had similar yields.", '+'),
        ("Yields were lower on organic farms than on conventional farms.", '-'),
        ("There is no difference in soil carbon between organic and conventional farms.", '0'),
    ]),
    ("Heat pumps use less energy than gas boilers", &[
        ("Gas boilers use more energy than heat pumps.", '+'),
        ("Heat pumps use as much energy as gas boilers.", '-'),
        ("Heat pumps make less noise than gas boilers.", '0'),
        ("Heat pumps use less energy than electric heaters.", '0'),
    ]),
    ("The diet lowers blood pressure", &[
        ("Blood pressure was 5 mmHg lower with the diet than without it.", '+'),
        ("Blood pressure was higher with the control meals than with the diet.", '+'),
        ("Blood pressure was 3 mmHg higher with the diet than with the control meals.", '-'),
        ("The diet lowers heart rate.", '0'),
    ]),
    ("読書は語彙を増やす", &[
        ("読書により語彙が増えた。", '+'),
        ("読書は語彙を増やさなかった。", '-'),
        ("読書は視力を低下させた。", '0'),
    ]),
    ("騒音は集中力を低下させる", &[
        ("騒音のある部屋では集中力が低下した。", '+'),
        ("騒音と集中力との間に関連はなかった。", '-'),
        ("騒音は血圧を上昇させる。", '0'),
    ]),
    ("圧縮は保存容量を減らす", &[
        ("圧縮により保存容量は減少した。", '+'),
        ("圧縮しても保存容量は変わらなかった。", '-'),
        ("圧縮は処理時間を延長した。", '0'),
        ("重複排除は保存容量を減らす。", '0'),
    ]),
    // Longer claims, as documents word them.
    ("Night work shortened total sleep by three hours a day in 40 hospital porters.", &[
        ("Sleep after night shifts was 92 minutes shorter than after day shifts: night work was associated with shorter sleep in 1,204 bus drivers.", '+'),
        ("Sleep after night shifts was as long as after day shifts.", '-'),
    ]),
    ("Saxagliptin increased the risk of hospitalization for heart failure compared with placebo (3.5% versus 2.8%; hazard ratio 1.27, 95% CI 1.07 to 1.51; P = 0.007).", &[
        ("DPP-4 inhibitors were associated with an increased risk of hospitalization for heart failure compared with placebo (hazard ratio 1.47, 95% CI 1.07 to 2.04).", '+'),
    ]),
    ("Productivity of remote support staff fell by 8 to 19 percent.", &[
        ("In a call centre with 16,000 employees, remote work raised the productivity of support staff by 13 percent.", '-'),
        ("The productivity of remote staff declined, mostly because of longer meetings.", '+'),
        ("Staff turnover fell by half when remote work was allowed.", '0'),
        ("Remote employees took fewer breaks and fewer sick days.", '0'),
    ]),
    ("Across 24 benchmarks, the JIT compiler ran 2.3 times faster than the interpreter.", &[
        ("On our machines the interpreter was slower than the JIT compiler in every benchmark.", '+'),
        ("The JIT compiler was no faster than the interpreter.", '-'),
        ("The JIT compiler used three times as much memory as the interpreter.", '0'),
        ("Startup of the JIT compiler took 400 ms longer than that of the interpreter.", '0'),
    ]),
    ("Raising the fuel tax reduced car traffic in the capital by 6%.", &[
        ("Car traffic in the capital did not change after the fuel tax was raised.", '-'),
        ("After the fuel tax, car traffic in the capital fell.", '+'),
        ("Raising the fuel tax increased the use of buses in the capital.", '0'),
        ("The bypass reduced car traffic in the capital by 6%.", '0'),
    ]),
    ("Wages in the north rose faster than wages in the south between 1850 and 1900.", &[
        ("Between 1850 and 1900 wages in the south rose more slowly than wages in the north.", '+'),
        ("Between 1850 and 1900 wages in the south rose faster than wages in the north.", '-'),
        ("Rents in the north rose faster than rents in the south.", '0'),
    ]),
    ("Adults who ate nuts every day weighed no more than adults who ate none.", &[
        ("Nuts lowered cholesterol in adults who ate them every day.", '0'),
        ("Adults who ate nuts slept longer.", '0'),
    ]),
    ("Tests written before the code caught more defects than tests written afterwards.", &[
        ("Defects were found just as often with tests written before the code as with tests written afterwards.", '-'),
        ("Writing tests before the code took developers 16% longer.", '0'),
    ]),
    ("Mean summer temperature in the valley has increased by 1.8 degrees since 1960.", &[
        ("Summer temperature in the valley has risen since 1960.", '+'),
        ("Summer temperature in the valley has not changed since 1960.", '-'),
        ("Summer rainfall in the valley has increased since 1960.", '0'),
        ("Mean winter snow depth in the valley has decreased by 40 cm since 1960.", '0'),
    ]),
    ("Pupils who learned with tablets read less well than pupils who learned with books.", &[
        ("Pupils who learned with tablets were absent less often.", '0'),
        ("Tablets cost schools more than books.", '0'),
    ]),
    ("Patients who walked after surgery left hospital two days earlier.", &[
        ("Patients who walked after surgery had less pain.", '0'),
        ("Patients who walked after surgery slept better at night.", '0'),
    ]),
    ("The query planner chooses the wrong index when statistics are stale.", &[
        ("Stale statistics make backups larger.", '0'),
        ("The query planner was rewritten in 2019.", '0'),
    ]),
    ("Antibiotics shorten ear infections in children.", &[
        ("Ear infections lasted one day less in children who were given antibiotics.", '+'),
        ("Antibiotics did not shorten ear infections in children under two.", '-'),
        ("Antibiotics caused diarrhoea in one child in ten.", '0'),
        ("Painkillers shortened ear infections in children.", '0'),
    ]),
    ("Bilingual children learn to read later than other children.", &[
        ("Bilingual children learned to read as early as other children.", '-'),
        ("Bilingual children know fewer words in each language than other children.", '0'),
    ]),
    ("The new scheduler doubled the number of jobs per hour.", &[
        ("The number of jobs per hour increased with the new scheduler.", '+'),
        ("The new scheduler did not increase the number of jobs per hour.", '-'),
        ("The number of jobs per hour was the same with the new scheduler as with the old one.", '-'),
        ("The new scheduler doubled the number of failed jobs.", '0'),
        ("The new scheduler doubled memory use.", '0'),
    ]),
    ("Ocean plastic kills seabirds", &[
        ("Ocean plastic is carried by currents.", '0'),
        ("Fishing nets kill seabirds.", '0'),
    ]),
    ("Free school meals improved attendance in rural schools.", &[
        ("Attendance in rural schools improved when free school meals were offered.", '+'),
        ("Free school meals made no difference to attendance in rural schools.", '-'),
        ("Free school meals improved the health of pupils in rural schools.", '0'),
        ("New roads improved attendance in rural schools.", '0'),
    ]),
    ("Households with solar panels use more electricity than households without them.", &[
        ("Households with solar panels use less electricity than households without them.", '-'),
        ("Households with solar panels own more cars than households without them.", '0'),
    ]),
    ("Prices rose faster than wages in the 1970s.", &[
        ("In the 1970s wages rose more slowly than prices.", '+'),
        ("In the 1970s wages rose faster than prices.", '-'),
        ("In the 1970s productivity rose more slowly than wages.", '0'),
    ]),
    ("Logging to disk halves the throughput of the server.", &[
        ("The throughput of the server fell by half when it logged to disk.", '+'),
        ("Logging to disk has no effect on the throughput of the server.", '-'),
        ("Logging to disk fills the disk of the server within a week.", '0'),
        ("Encryption halves the throughput of the server.", '0'),
    ]),
    ("Vegetarians have a lower risk of stroke than meat eaters.", &[
        ("The risk of stroke was lower in vegetarians than in meat eaters.", '+'),
        ("Meat eaters had a lower risk of stroke than vegetarians.", '-'),
        ("Vegetarians have a lower body weight than meat eaters.", '0'),
        ("Smokers have a higher risk of stroke than non-smokers.", '0'),
    ]),
    ("There were fewer storms in 2020 than in 2019.", &[
        ("There were more storms in 2020 than in 2019.", '-'),
        ("There were more storms in 2019 than in 2020.", '+'),
        ("There were fewer heat waves in 2020 than in 2019.", '0'),
    ]),
    ("Cold water swimming does not reduce stress.", &[
        ("Cold water swimming had no effect on stress.", '+'),
        ("Cold water swimming reduced stress.", '-'),
        ("Cold water swimming does not reduce body fat.", '0'),
    ]),
    ("Exports grew because the currency lost value.", &[
        ("Exports fell although the currency lost value.", '-'),
        ("Imports fell because the currency lost value.", '0'),
    ]),
];
