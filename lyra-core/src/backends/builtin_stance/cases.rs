//! Hand-written pairs that the judge must get right, as data.

/// The question that most English cases are about.
const CLASS_RISK: &str = "DPP-4 inhibitors increase the risk of hospitalization for heart failure in patients with type 2 diabetes";
pub(crate) const SAXA_RISK: &str =
    "Saxagliptin increases the risk of hospitalization for heart failure";
const SITA_RISK: &str = "Sitagliptin increases the risk of hospitalization for heart failure";
const JA_CLASS_RISK: &str = "DPP-4阻害薬は2型糖尿病患者の心不全による入院リスクを増加させる";
const JA_SAXA_RISK: &str = "サキサグリプチンは心不全入院のリスクを増加させる";

/// (hypothesis, premise, verdict): `+` supports, `-` refutes, `0` neutral.
#[rustfmt::skip]
pub(crate) const CASES: &[(&str, &str, char)] = &[
    // People fall, and so do quantities.
    ("Drug X increases the risk of falls", "Drug X increased the risk of falls.", '+'),
    ("Drug X increases the risk of falls", "Drug X did not increase the risk of falls.", '-'),
    ("Vitamin D prevents falls in older adults", "Vitamin D reduced falls in older adults.", '+'),
    ("Walking lowers blood glucose", "Blood glucose falls after walking.", '+'),
    // Effect sizes decide.
    (
        CLASS_RISK,
        "More patients in the saxagliptin group than in the placebo group were hospitalized for heart failure (3.5% vs. 2.8%; hazard ratio, 1.27; 95% CI, 1.07 to 1.51; P=0.007).",
        '+',
    ),
    (
        CLASS_RISK,
        "Hospitalization for heart failure did not differ between sitagliptin and placebo (hazard ratio, 1.00; 95% CI, 0.83 to 1.20; P=0.98).",
        '-',
    ),
    (
        CLASS_RISK,
        "Linagliptin did not increase the risk of hospitalization for heart failure (HR 0.90; 95% CI 0.74-1.08).",
        '-',
    ),
    (
        CLASS_RISK,
        "The rate of hospitalization for heart failure was 6.0% with linagliptin and 6.5% with placebo (HR 0.90, 95% CI 0.74–1.08).",
        '-',
    ),
    (
        SAXA_RISK,
        "Saxagliptin: hospitalization for heart failure, HR 1.27 (95% CI 1.07-1.51).",
        '+',
    ),
    (
        SITA_RISK,
        "For hospitalization for heart failure, the hazard ratio with sitagliptin was 1.00 (95% CI 0.83 to 1.20).",
        '-',
    ),
    (
        CLASS_RISK,
        "In the pooled analysis of five trials, DPP-4 inhibitors were associated with a higher risk of hospital admission for heart failure (odds ratio 1.13, 95% confidence interval 1.00 to 1.26).",
        '+',
    ),
    (
        CLASS_RISK,
        "Use of DPP-4 inhibitors was associated with a lower risk of heart failure hospitalization than sulfonylureas (HR 0.68, 95% CI 0.54-0.86).",
        '-',
    ),
    (
        CLASS_RISK,
        "In this cohort the rate of hospitalization for heart failure did not increase with the use of incretin-based drugs including DPP-4 inhibitors (HR 0.82; 95% CI, 0.67 to 1.00).",
        '-',
    ),
    (
        "Statins reduce the incidence of stroke",
        "Atorvastatin lowered the incidence of stroke (RR 0.74; 95% CI 0.60 to 0.91).",
        '+',
    ),
    (
        "Statins reduce the incidence of stroke",
        "The incidence of stroke was similar with pravastatin and placebo (RR 0.98, 95% CI 0.80 to 1.19).",
        '-',
    ),
    (
        "Vitamin D supplementation prevents fractures",
        "Vitamin D supplementation had no effect on the incidence of fractures (hazard ratio 1.03; 95% CI 0.93 to 1.14).",
        '-',
    ),
    (
        "Coffee consumption lowers the risk of gout",
        "Coffee drinkers had a lower risk of gout (relative risk 0.41; 95% CI 0.19 to 0.88).",
        '+',
    ),
    (
        "Aspirin reduces the risk of colorectal cancer",
        "Aspirin use was not associated with the risk of colorectal cancer (OR 1.02, 95% CI 0.91 to 1.15).",
        '-',
    ),
    // Direction, in words.
    (
        SAXA_RISK,
        "Saxagliptin raised the rate of hospitalization for heart failure.",
        '+',
    ),
    (
        SAXA_RISK,
        "Hospitalization for heart failure was more frequent with saxagliptin than with placebo.",
        '+',
    ),
    (
        CLASS_RISK,
        "Treatment with DPP-4 inhibitors was associated with an increased risk of heart failure hospitalization in patients with type 2 diabetes.",
        '+',
    ),
    (
        CLASS_RISK,
        "The FDA concluded that medicines containing saxagliptin and alogliptin may increase the risk of heart failure.",
        '+',
    ),
    (
        "Smoking increases the risk of lung cancer",
        "Smoking reduced the risk of lung cancer in this cohort.",
        '-',
    ),
    (
        "Smoking increases the risk of lung cancer",
        "The risk of lung cancer was higher in smokers than in those who never smoked.",
        '+',
    ),
    (
        "Exercise lowers blood pressure in older adults",
        "Regular exercise decreased blood pressure in older adults.",
        '+',
    ),
    (
        "Exercise lowers blood pressure in older adults",
        "Regular exercise raised blood pressure in older adults.",
        '-',
    ),
    (
        "Metformin improves survival in breast cancer",
        "Metformin improved survival among women with breast cancer.",
        '+',
    ),
    (
        "Metformin improves survival in breast cancer",
        "Metformin worsened survival among women with breast cancer.",
        '-',
    ),
    (
        "Sleep deprivation impairs memory consolidation",
        "Sleep deprivation impaired memory consolidation in young adults.",
        '+',
    ),
    (
        "Sleep deprivation impairs memory consolidation",
        "Sleep deprivation improved memory consolidation in young adults.",
        '-',
    ),
    (
        "IL-6 promotes tumor growth",
        "Here we show that IL-6 enhances tumor growth in mice.",
        '+',
    ),
    (
        "IL-6 promotes tumor growth",
        "Here we show that IL-6 suppresses tumor growth in mice.",
        '-',
    ),
    (
        "Deletion of SIRT1 decreases insulin sensitivity",
        "Mice with deletion of SIRT1 had lower insulin sensitivity.",
        '+',
    ),
    (
        "Rapamycin extends lifespan",
        "Rapamycin increased the lifespan of mice by 12%.",
        '+',
    ),
    (
        "Air pollution exposure is associated with dementia",
        "Exposure to air pollution was associated with a greater risk of dementia.",
        '+',
    ),
    // Negation.
    (
        CLASS_RISK,
        "DPP-4 inhibitors did not increase the risk of hospitalization for heart failure.",
        '-',
    ),
    (
        CLASS_RISK,
        "There was no evidence that DPP-4 inhibitors increase the risk of hospitalization for heart failure.",
        '-',
    ),
    (
        CLASS_RISK,
        "No significant increase in hospitalization for heart failure was seen with DPP-4 inhibitors.",
        '-',
    ),
    (
        CLASS_RISK,
        "An increased risk of hospitalization for heart failure was not observed with DPP-4 inhibitors in patients with type 2 diabetes.",
        '-',
    ),
    (
        CLASS_RISK,
        "DPP-4 inhibitors were neutral with respect to hospitalization for heart failure.",
        '-',
    ),
    (
        CLASS_RISK,
        "Heart failure hospitalization rates were similar among users of DPP-4 inhibitors and nonusers.",
        '-',
    ),
    (
        CLASS_RISK,
        "DPP-4 inhibitors improved glycemic control without increasing hospitalization for heart failure.",
        '-',
    ),
    (
        "Antioxidant supplements reduce mortality",
        "Antioxidant supplements failed to reduce mortality.",
        '-',
    ),
    (
        "Antioxidant supplements reduce mortality",
        "Neither vitamin E nor other antioxidant supplements reduced mortality.",
        '-',
    ),
    (
        "Beta-carotene reduces the risk of lung cancer",
        "Beta-carotene had no effect on the risk of lung cancer.",
        '-',
    ),
    (
        "The vaccine causes autism",
        "There is no association between the vaccine and autism.",
        '-',
    ),
    (
        "The vaccine is not associated with autism",
        "No association between the vaccine and autism was found.",
        '+',
    ),
    (
        "The vaccine is not associated with autism",
        "The vaccine was associated with an increased risk of autism.",
        '-',
    ),
    (
        "Sitagliptin does not increase hospitalization for heart failure",
        "Sitagliptin did not affect rates of hospitalization for heart failure (HR 1.00; 95% CI 0.83-1.20).",
        '+',
    ),
    (
        "Saxagliptin does not increase hospitalization for heart failure",
        "Hospitalization for heart failure was increased by saxagliptin (HR 1.27; 95% CI 1.07-1.51).",
        '-',
    ),
    (
        "Zinc shortens the duration of the common cold",
        "The duration of the common cold was not shortened by zinc lozenges.",
        '-',
    ),
    (
        "Zinc shortens the duration of the common cold",
        "Zinc lozenges reduced the duration of the common cold by two days.",
        '+',
    ),
    // Contrast inside a sentence.
    (
        "Saxagliptin increases ischemic events",
        "Saxagliptin increased hospitalization for heart failure but did not increase ischemic events.",
        '-',
    ),
    (
        SAXA_RISK,
        "Saxagliptin did not increase ischemic events, but it increased the rate of hospitalization for heart failure.",
        '+',
    ),
    (
        SITA_RISK,
        "Saxagliptin increased hospitalization for heart failure, whereas sitagliptin did not increase it (hospitalization for heart failure 3.1% vs 3.1%).",
        '-',
    ),
    // Neutral: another drug.
    (
        SAXA_RISK,
        "Sitagliptin did not increase the risk of hospitalization for heart failure (HR 1.00; 95% CI 0.83-1.20).",
        '0',
    ),
    (
        SITA_RISK,
        "Saxagliptin increased the risk of hospitalization for heart failure (HR 1.27; 95% CI 1.07-1.51).",
        '0',
    ),
    (
        CLASS_RISK,
        "Empagliflozin reduced hospitalization for heart failure (HR 0.65; 95% CI 0.50 to 0.85).",
        '0',
    ),
    (
        CLASS_RISK,
        "Rosiglitazone increased the risk of hospitalization for heart failure (HR 2.10; 95% CI 1.35-3.27).",
        '0',
    ),
    (
        "Atorvastatin reduces the incidence of stroke",
        "Losartan reduced the incidence of stroke compared with atenolol.",
        '0',
    ),
    // Neutral: another outcome.
    (
        CLASS_RISK,
        "Saxagliptin did not change the rate of ischemic stroke (HR 1.11; 95% CI 0.88-1.39).",
        '0',
    ),
    (
        CLASS_RISK,
        "Sitagliptin lowered glycated hemoglobin by 0.3 percentage points.",
        '0',
    ),
    (
        SAXA_RISK,
        "Pancreatitis occurred in similar numbers of patients with saxagliptin and placebo.",
        '0',
    ),
    (
        "Coffee consumption lowers the risk of gout",
        "Coffee consumption lowered the risk of Parkinson disease.",
        '0',
    ),
    // Neutral: another topic, a method, a plan.
    (
        CLASS_RISK,
        "The museum opened a new exhibition of Dutch paintings in the spring.",
        '0',
    ),
    (
        CLASS_RISK,
        "Zebrafish embryos were raised at 28 degrees and staged by standard criteria.",
        '0',
    ),
    (
        CLASS_RISK,
        "Patients were randomly assigned to saxagliptin or placebo and followed for a median of 2.1 years.",
        '0',
    ),
    (
        CLASS_RISK,
        "We aimed to determine whether DPP-4 inhibitors increase the risk of hospitalization for heart failure.",
        '0',
    ),
    (
        CLASS_RISK,
        "Type 2 diabetes is a risk factor for heart failure, and it worsens mortality once heart failure is present.",
        '0',
    ),
    (
        CLASS_RISK,
        "The society does not recommend the DPP-4 inhibitor saxagliptin in patients with heart failure.",
        '0',
    ),
    (
        CLASS_RISK,
        "Some, but not all, DPP-4 inhibitors have been associated with an increased risk of heart failure.",
        '+',
    ),
    (
        CLASS_RISK,
        "The rate of hospitalization for heart failure did not differ between the groups (hazard ratio 1.00; 95% CI 0.83 to 1.20).",
        '-',
    ),
    (
        CLASS_RISK,
        "Thiazolidinediones increase the risk of heart failure.",
        '0',
    ),
    (
        "Smoking increases the risk of lung cancer",
        "Increased rainfall reduces the risk of wildfire.",
        '0',
    ),
    (
        "Exercise lowers blood pressure in older adults",
        "The parliament rejected the budget after a long debate.",
        '0',
    ),
    (
        "IL-6 promotes tumor growth",
        "The global average temperature increased by one degree.",
        '0',
    ),
    (
        "The vaccine causes autism",
        "Rust is a language that prevents data races at compile time.",
        '0',
    ),
    // Japanese.
    (
        JA_CLASS_RISK,
        "サキサグリプチン群では心不全による入院が有意に増加した（ハザード比1.27、95%信頼区間1.07-1.51）。",
        '+',
    ),
    (
        JA_CLASS_RISK,
        "シタグリプチンは心不全による入院リスクを増加させなかった（HR 1.00、95%CI 0.83-1.20）。",
        '-',
    ),
    (
        JA_CLASS_RISK,
        "心不全による入院について、リナグリプチン群とプラセボ群の間に有意差は認められなかった。",
        '-',
    ),
    (
        JA_CLASS_RISK,
        "DPP-4阻害薬の投与により心不全入院のリスクが上昇した。",
        '+',
    ),
    (
        JA_CLASS_RISK,
        "DPP-4阻害薬と心不全入院のリスクとの間に関連は認められなかった。",
        '-',
    ),
    (
        JA_CLASS_RISK,
        "心不全による入院はアログリプチン群とプラセボ群で同程度であった。",
        '-',
    ),
    (
        JA_CLASS_RISK,
        "DPP-4阻害薬は心不全による入院リスクを低下させた。",
        '-',
    ),
    (
        JA_SAXA_RISK,
        "サキサグリプチンはプラセボと比較して心不全入院のリスクを高めた。",
        '+',
    ),
    (
        JA_SAXA_RISK,
        "シタグリプチンは心不全入院のリスクを増加させなかった。",
        '0',
    ),
    (
        JA_CLASS_RISK,
        "エンパグリフロジンは心不全による入院を減少させた。",
        '0',
    ),
    (
        JA_CLASS_RISK,
        "シタグリプチンはHbA1cを0.7%低下させた。",
        '0',
    ),
    (JA_CLASS_RISK, "この美術館では春に新しい展示が始まる。", '0'),
    (
        JA_CLASS_RISK,
        "対象は2型糖尿病患者であり、無作為に二群に割り付けられた。",
        '0',
    ),
    (
        JA_CLASS_RISK,
        "本研究の目的は、DPP-4阻害薬が心不全入院のリスクを増加させるかどうかを検討することである。",
        '0',
    ),
    (
        "喫煙は肺がんのリスクを高める",
        "喫煙者では肺がんのリスクが高かった。",
        '+',
    ),
    (
        "喫煙は肺がんのリスクを高める",
        "喫煙と肺がんのリスクとの間に関連はみられなかった。",
        '-',
    ),
    (
        "運動は血圧を低下させる",
        "運動により血圧は有意に低下した。",
        '+',
    ),
    (
        "運動は血圧を低下させる",
        "運動は血圧を低下させなかった。",
        '-',
    ),
    ("運動は血圧を低下させる", "運動により血圧は上昇した。", '-'),
    (
        "睡眠不足は肥満の原因となる",
        "新しい鉄道が来年開通する予定である。",
        '0',
    ),
    (
        "ワクチンは感染を予防する",
        "ワクチンは感染を予防した。",
        '+',
    ),
    (
        "ワクチンは感染を予防する",
        "ワクチンには感染を予防する効果が認められなかった。",
        '-',
    ),
    // Across the two languages.
    (
        CLASS_RISK,
        "DPP-4阻害薬は心不全による入院リスクを増加させなかった。",
        '-',
    ),
    (
        CLASS_RISK,
        "サキサグリプチン群では心不全による入院が増加した（HR 1.27、95%CI 1.07-1.51）。",
        '+',
    ),
    (
        JA_CLASS_RISK,
        "Saxagliptin increased the risk of hospitalization for heart failure (HR 1.27; 95% CI 1.07-1.51).",
        '+',
    ),
    // Written after the judge and right at first sight, save three.
    ("Caffeine intake raises blood pressure", "Caffeine intake was followed by an increase in systolic blood pressure of 8 mmHg.", '+'),
    ("Caffeine intake raises blood pressure", "Blood pressure remained unchanged after caffeine intake.", '-'),
    ("Caffeine intake raises blood pressure", "Caffeine intake delayed the onset of sleep.", '0'),
    ("Omega-3 supplements reduce cardiovascular mortality", "Cardiovascular mortality was not reduced by omega-3 supplements (HR 0.97; 95% CI 0.89-1.05).", '-'),
    ("Omega-3 supplements reduce cardiovascular mortality", "Participants who took omega-3 supplements had fewer cardiovascular deaths (HR 0.81; 95% CI 0.70 to 0.94).", '+'),
    ("Omega-3 supplements reduce cardiovascular mortality", "Omega-3 supplements were well tolerated, and fishy aftertaste was the most common complaint.", '0'),
    ("Remote work increases productivity", "Productivity rose by 13% among employees who switched to remote work.", '+'),
    ("Remote work increases productivity", "Productivity fell after the switch to remote work.", '-'),
    ("Remote work increases productivity", "The study found no effect of remote work on productivity.", '-'),
    ("Remote work increases productivity", "Remote work was introduced in March 2020 at all sites of the company.", '0'),
    ("Minimum wage increases do not reduce employment", "We find no indication that higher minimum wages reduced employment.", '+'),
    ("Minimum wage increases do not reduce employment", "Minimum wage increases reduced employment among teenagers.", '-'),
    ("Canagliflozin increases the risk of amputation", "Canagliflozin was not associated with amputation (HR 0.98; 95% CI 0.68-1.41).", '-'),
    ("Canagliflozin increases the risk of amputation", "Amputation was more common with canagliflozin than with placebo (6.3 vs 3.4 per 1000 patient-years; hazard ratio 1.97; 95% CI 1.41 to 2.75).", '+'),
    ("Canagliflozin increases the risk of amputation", "Empagliflozin did not increase the risk of amputation (HR 1.00; 95% CI 0.70-1.44).", '0'),
    ("SGLT2 inhibitors reduce hospitalization for heart failure", "Dapagliflozin lowered the rate of hospitalization for heart failure (HR 0.73; 95% CI 0.61 to 0.88).", '+'),
    ("SGLT2 inhibitors reduce hospitalization for heart failure", "Semaglutide reduced body weight by 12%.", '0'),
    ("Statins increase the risk of dementia", "Statin use was associated with a reduced risk of dementia (RR 0.85, 95% CI 0.79 to 0.92).", '-'),
    ("Statins increase the risk of dementia", "No association was seen between statin use and dementia.", '-'),
    ("Proton pump inhibitors increase the risk of fractures", "Omeprazole users had a higher risk of fractures (adjusted OR 1.33, 95% CI 1.15-1.54).", '+'),
    ("Proton pump inhibitors increase the risk of fractures", "Proton pump inhibitors heal peptic ulcers within eight weeks.", '0'),
    ("p53 loss promotes tumor progression", "Loss of p53 accelerated tumor progression in the lung.", '+'),
    ("p53 loss promotes tumor progression", "Loss of p53 did not affect tumor progression.", '-'),
    ("Breastfeeding lowers the risk of childhood obesity", "Breastfed children were less likely to be obese: the odds ratio for childhood obesity with breastfeeding was 0.78 (95% CI 0.74 to 0.81).", '+'),
    ("Breastfeeding lowers the risk of childhood obesity", "Breastfeeding rates differ between regions of the country.", '0'),
    ("Video games cause aggression", "Playing video games was unrelated to aggression in adolescents.", '-'),
    ("Hydroxychloroquine has no effect on mortality in COVID-19", "Mortality was similar with hydroxychloroquine and usual care in patients with COVID-19 (rate ratio 1.09; 95% CI 0.97 to 1.23).", '+'),
    ("Hydroxychloroquine reduces mortality in COVID-19", "Hydroxychloroquine did not lower mortality in COVID-19.", '-'),
    ("Hydroxychloroquine reduces mortality in COVID-19", "The stock market closed higher on Friday.", '0'),
    ("Meditation is effective against chronic pain", "Meditation was ineffective against chronic pain.", '-'),
    ("コーヒーは糖尿病のリスクを低下させる", "コーヒーを飲む人では糖尿病のリスクが低かった（ハザード比0.75、95%信頼区間0.65-0.87）。", '+'),
    ("コーヒーは糖尿病のリスクを低下させる", "コーヒーの摂取と糖尿病のリスクに関連は認められなかった。", '-'),
    ("コーヒーは糖尿病のリスクを低下させる", "コーヒーの価格は昨年より上昇した。", '0'),
    ("スタチンは脳卒中の発症率を減少させる", "アトルバスタチンは脳卒中の発症率を有意に減少させた。", '+'),
    ("スタチンは脳卒中の発症率を減少させる", "スタチン群とプラセボ群で脳卒中の発症率に有意差はなかった。", '-'),
    ("スタチンは脳卒中の発症率を減少させる", "スタチンは横紋筋融解症を起こすことがある。", '0'),
    ("運動療法は認知症の発症を予防する", "運動療法により認知症の発症が減少した。", '+'),
    ("運動療法は認知症の発症を予防する", "運動療法は認知症の発症を減らさなかった。", '-'),
    ("運動療法は認知症の発症を予防する", "認知症の診断基準は2011年に改訂された。", '0'),
    ("SGLT2阻害薬は骨折を増加させる", "ダパグリフロジンは骨折を増加させなかった（HR 1.04、95%CI 0.91-1.18）。", '-'),
    ("SGLT2阻害薬は骨折を増加させる", "サキサグリプチンは骨折を増加させなかった。", '0'),
    ("残業時間の増加はうつ病の原因となる", "残業時間が長い人ではうつ病のリスクが高かった。", '+'),
];
