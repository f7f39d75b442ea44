//! The words that the built-in judge knows, as flat tables.
//!
//! General vocabulary of reporting results in English and Japanese: directions, negation,
//! comparison, association, hedging. Nothing here is about one subject matter except the
//! [synonyms](SYNONYMS) and [Japanese terms](JAPANESE_TERMS) of clinical writing, which let
//! "admission" meet "hospitalization" and 心不全 meet "heart failure".

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

/// What a word says about the polarity of its clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Cue {
    /// Nothing.
    None,
    /// A quantity goes up or is greater.
    Up,
    /// A quantity goes down or is smaller.
    Down,
    /// Something gets or is better.
    Good,
    /// Something gets or is worse.
    Bad,
    /// Something is there in plenty (an adjective, not an event).
    LevelUp,
    /// Something is missing, silenced or scarce (an adjective, not an event).
    LevelDown,
    /// No difference, no change.
    Same,
    /// A difference; with a negation, no difference.
    Differ,
    /// A link of unstated direction.
    Link,
    /// Negates what follows.
    Not,
    /// Negates what stands before it (Japanese predicates).
    NotBefore,
    /// "nonsignificant": turns the direction beside it into no effect.
    Insignificant,
    /// Words that, negated behind a direction, negate the direction: "was not observed".
    Observed,
    /// Turns the clause against what came before.
    Contrast,
    /// What follows is what the subject is compared with.
    Than,
    /// What stands before it is what the subject is compared with (Japanese).
    ThanBefore,
    /// The clause asks or plans; it does not assert.
    Whether,
    /// The clause asserts weakly.
    Hedge,
    /// The clause sums up or reports a result.
    Result,
    /// People or animals that were studied.
    Population,
}

impl Cue {
    /// Whether the cue names a change or a comparison that negation and agreement apply to.
    pub(super) fn is_event(self) -> bool {
        matches!(
            self,
            Self::Up | Self::Down | Self::Good | Self::Bad | Self::Same | Self::Differ | Self::Link
        )
    }
}

/// Cue words by their full lower-cased form.
#[rustfmt::skip]
const CUE_WORDS: &[(Cue, &[&str])] = &[
    // An exacerbation is something that happens to patients, not a direction.
    (Cue::None, &["exacerbation", "exacerbations"]),
    (Cue::Up, &["positively", "higher", "greater", "more", "rise", "rises", "rose", "risen",
        "rising", "grew", "gain", "gains", "gained", "excess", "larger", "longer",
        "upregulates", "doubled", "tripled", "faster", "stronger", "drives", "driving",
        "increments", "increment"]),
    (Cue::Down, &["inverse", "inversely", "negatively", "lower", "lowers", "lowered",
        "lowering", "fewer", "less", "fell", "fall", "falls", "drop", "drops", "dropped",
        "shorter", "slower", "slowed", "slows", "smaller", "weaker", "halved", "blocks",
        "blocked", "blocking", "protective", "protection", "protects", "protected", "protect",
        "loses", "lost", "limit", "limits", "limited", "cut", "delays", "delayed", "delay"]),
    (Cue::Good, &["better", "superior", "superiority", "beneficial", "benefit", "benefits",
        "benefited", "favorable", "favourable", "effective", "efficacious", "improve", "safe",
        "success", "successful", "useful", "recovered", "healthier"]),
    (Cue::Bad, &["worse", "worst", "inferior", "inferiority", "harmful", "harm", "harms",
        "harmed", "poor", "poorer", "ineffective", "detrimental", "adverse", "unsafe", "toxic",
        "unfavorable", "unfavourable", "damaging", "useless"]),
    (Cue::LevelUp, &["high", "active", "presence", "overexpression", "overexpressing",
        "overexpressed", "excessive", "abundant", "large", "overweight"]),
    (Cue::LevelDown, &["low", "absence", "absent", "deficient", "deficiency", "deficiencies",
        "lacking", "lack", "lacks", "lacked", "loss", "knockdown", "knockout", "silencing",
        "silenced", "depletion", "depleted", "deletion", "deleted", "null", "ablation",
        "ablated", "disruption", "disrupted", "inactivation", "haploinsufficiency",
        "antagonist", "antagonists", "antagonism", "rare", "rarely", "unavailable",
        "nonexistent", "missing"]),
    (Cue::Same, &["similar", "similarly", "comparable", "neutral", "unchanged", "equivalent",
        "unrelated", "independent", "noninferior", "noninferiority", "unaffected", "unaltered",
        "dispensable"]),
    (Cue::Differ, &["difference", "differences", "differ", "differs", "differed", "different",
        "change", "changes", "changed", "differential", "altered", "alter", "alters"]),
    (Cue::Link, &["associated", "association", "associations", "associate", "linked", "link",
        "links", "correlated", "correlation", "correlates", "correlate", "related",
        "relationship", "relation", "affect", "affects", "affected", "influence", "influences",
        "influenced", "effect", "effects", "predict", "predicts", "predicted", "predictive",
        "predictor", "role", "cause", "causes", "caused", "causal", "contribute", "contributes",
        "contributed", "contribution", "required", "requires", "require", "necessary",
        "essential", "depends", "dependent", "depend", "lead", "leads", "led", "trigger",
        "triggers", "triggered", "mediate", "mediates", "mediated", "regulate", "regulates",
        "regulated", "impact", "impacts", "involved", "involvement", "implicated", "evidence",
        "confers", "confer", "determines", "interacts", "interact", "binds", "bind", "bound",
        "resulted", "crucial", "critical", "important"]),
    (Cue::Not, &["not", "no", "never", "neither", "nor", "without", "none", "cannot", "fail",
        "fails", "failed", "failing", "unable", "non", "nothing", "unlikely", "little",
        "hardly"]),
    (Cue::Insignificant, &["nonsignificant", "insignificant", "nonsignificantly",
        "insignificantly", "negligible", "marginal"]),
    (Cue::Observed, &["significant", "significantly", "observed", "seen", "found", "detected",
        "evident", "detectable", "apparent", "confirmed", "statistically", "identified",
        "noted", "demonstrated", "reached", "supported", "substantial", "clear"]),
    (Cue::Contrast, &["but", "whereas", "while", "although", "though", "however", "yet",
        "conversely", "despite", "nevertheless", "nonetheless", "except"]),
    (Cue::Than, &["than", "versus", "vs", "v", "compared", "relative", "comparison"]),
    (Cue::Whether, &["whether", "aim", "aimed", "aims", "objective", "objectives", "purpose",
        "investigate", "investigated", "investigates", "examine", "examined", "assess",
        "assessed", "evaluate", "evaluated", "determine", "sought", "unclear", "unknown",
        "hypothesis", "hypothesized", "hypothesised", "hypothesize", "question", "designed",
        "explore", "explored", "controversial", "background", "debate", "concern", "concerns",
        "test", "compare", "if"]),
    (Cue::Hedge, &["may", "might", "could", "possibly", "possible", "suggest", "suggests",
        "suggested", "suggesting", "appear", "appears", "appeared", "seem", "seems",
        "potential", "potentially", "perhaps", "probably", "likely", "putative", "propose",
        "proposed", "speculate"]),
    (Cue::Result, &["conclusion", "conclusions", "conclude", "concluded", "show", "showed",
        "shows", "shown", "demonstrate", "demonstrates", "reveal", "revealed", "reveals",
        "findings", "interpretation", "thus", "therefore", "indicate", "indicates", "indicated",
        "together", "overall", "here"]),
    (Cue::Population, &["patients", "adults", "participants", "individuals", "people", "women",
        "men", "children", "mice", "rats", "subjects", "persons", "infants", "populations",
        "population", "persons", "humans", "users", "workers", "adolescents", "elderly",
        "outpatients", "veterans"]),
];

/// Cue words by their [stem](super::words::stem), where every form says the same.
#[rustfmt::skip]
const CUE_STEMS: &[(Cue, &[&str])] = &[
    (Cue::Up, &["increas", "induct", "enhance", "elevat", "elev", "rais", "enhanc", "promot", "induc", "activ", "upregul",
        "augment", "acceler", "exacerb", "stimul", "potenti", "facilit", "amplif", "boost",
        "strengthen", "heighten", "expand", "double", "prolong", "trebl", "extend",
        "lengthen"]),
    (Cue::Down, &["decreas", "reduc", "reduct", "attenu", "inhibit", "suppress", "prevent", "diminish",
        "declin", "downregul", "abolish", "abrog", "shorten", "mitig", "allevi", "minim",
        "weaken", "repress", "revers", "restrict", "lessen", "curb", "dampen", "impede",
        "hinder", "avert", "curtail", "negat", "eliminat", "elimin", "antagon"]),
    (Cue::Good, &["improv", "improve", "amelior", "restor", "rescu", "optim", "effectiv"]),
    (Cue::Bad, &["worsen", "impair", "deterior", "aggrav", "compromis", "damag"]),
];

/// Words that say nothing about the topic.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "among", "an", "and", "any",
    "are", "as", "at", "be", "been", "before", "being", "between", "both", "but", "by", "can",
    "could", "did", "do", "does", "doing", "during", "each", "either", "et", "for", "from",
    "further", "had", "has", "have", "having", "he", "her", "here", "his", "how", "however", "i",
    "if", "in", "into", "is", "it", "its", "itself", "may", "might", "more", "most", "neither",
    "no", "nor", "not", "of", "on", "once", "only", "or", "other", "our", "out", "over", "own",
    "per", "same", "she", "should", "since", "so", "some", "such", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "through", "thus", "to", "too",
    "under", "until", "up", "upon", "very", "via", "was", "we", "were", "what", "when", "where",
    "whereas", "whether", "which", "while", "who", "whom", "why", "will", "with", "within",
    "without", "would", "you", "your", "al", "e", "g", "versus", "vs", "v", "one", "two", "three",
    "thereby", "therefore", "well", "yet", "although", "though", "despite", "because", "onto",
    "cannot",
];

/// Stems that many texts of any topic share; sharing them says little.
#[rustfmt::skip]
const GENERIC_STEMS: &[&str] = &[
    "patient", "particip", "subject", "individu", "people", "person", "adult", "popul", "group",
    "stud", "trial", "result", "conclus", "method", "background", "find", "found", "show", "data",
    "analys", "treat", "therap", "effect", "risk", "rate", "incid", "level", "year", "month",
    "week", "day", "time", "high", "higher", "low", "lower", "increas", "decreas", "reduc",
    "signific", "differ", "compar", "associ", "observ", "report", "includ", "receiv", "use",
    "using", "used", "user", "control", "placebo", "baseline", "outcome", "outcom", "event",
    "primary", "secondary", "evid", "hazard", "ratio", "odd", "relativ", "confid", "interval",
    "ci", "hr", "rr", "p", "n", "total", "mean", "number", "case", "caus", "relat", "role",
    "import", "suggest", "demonstr", "indic", "provid", "play", "lead", "elev", "greater", "less",
    "fewer", "human", "mice", "mouse", "model", "type", "activ", "induc", "promot", "inhibit",
    "improv", "chang", "factor", "common", "develop", "like", "function", "express", "process",
    "respons", "specif", "gene", "protein", "cell", "women", "men", "clinic", "medic", "medicin",
    "drug", "agent", "dis", "diseas", "disord", "condition", "lack", "absence", "regul",
    "predict", "influenc", "affect", "link", "correl", "requir", "mediat",
];

/// Groups of stems that name one thing; the first stands for all.
#[rustfmt::skip]
const SYNONYMS: &[&[&str]] = &[
    &["reduc", "reduct"], &["improv", "improve"], &["induc", "induct"], &["enhanc", "enhance"],
    &["hospital", "hospit", "admission", "admitt", "admiss", "admit", "readmission",
        "rehospital"],
    &["mortal", "death", "deaths", "died", "die", "fatal", "dead", "lethal", "dying"],
    &["cancer", "carcinoma", "tumor", "tumour", "neoplasm", "malignanc", "malignant",
        "oncolog"],
    &["kidney", "renal"],
    &["heart", "cardiac"],
    &["liver", "hepat"],
    &["lung", "pulmonar"],
    &["brain", "cerebr"],
    &["risk", "odds", "hazard", "likelihood", "probabil", "incid", "rate", "rates", "prevalenc",
        "frequenc", "chance", "susceptibil", "suscept"],
    &["children", "child", "pediatr", "paediatr", "childhood"],
    &["women", "woman", "female", "females"],
    &["men", "man", "male", "males"],
    &["mice", "mouse", "murine"],
    &["diabet", "diabetes", "t2d", "t2dm", "niddm"],
    &["obes", "obesity", "overweight", "adipos"],
    &["stroke", "strokes"],
    &["infarct", "infarction"],
    &["treat", "therap", "therapy", "treatment"],
    &["medic", "drug", "drugs", "medicin", "agent"],
    &["inhibitor", "inhibitors", "blocker", "blockers"],
    &["gene", "genetic", "genet", "genom"],
    &["weight", "bodyweight"],
    &["aging", "ageing", "age", "older", "elder"],
    &["smok", "smoking", "tobacco", "cigarette", "smoker",
        "smokers"],
    &["vaccin", "immuniz", "immunis", "vaccine"],
    &["exercis", "exercise", "training"],
    &["bleed", "bleeding", "hemorrhag", "haemorrhag", "hemorrhage", "haemorrhage"],
    &["glucos", "glucose", "glycem", "glycaem", "glycemic", "sugar"],
    &["bone", "osseous", "skelet"],
    &["fractur", "fracture", "fractures"],
    &["neuron", "neurone", "neural", "neuronal", "nerve"],
    &["depress", "depression", "depressive"],
    &["anxi", "anxiety", "anxious"],
];

/// A Japanese term: its text, its cue, and English words it can be compared with.
#[derive(Debug)]
pub(super) struct JapaneseTerm {
    text: &'static str,
    /// What it says about polarity.
    pub(super) cue: Cue,
    /// The English words for it; none for a mere cue.
    pub(super) english: &'static [&'static str],
}

/// A row of [`JAPANESE_TERMS`].
const fn ja(text: &'static str, cue: Cue, english: &'static [&'static str]) -> JapaneseTerm {
    JapaneseTerm { text, cue, english }
}

/// Japanese cues and clinical terms; the longest that matches at a place wins.
#[rustfmt::skip]
const JAPANESE_TERMS: &[JapaneseTerm] = &[
    ja("増加", Cue::Up, &[]), ja("増大", Cue::Up, &[]), ja("上昇", Cue::Up, &[]),
    ja("亢進", Cue::Up, &[]), ja("促進", Cue::Up, &[]), ja("高める", Cue::Up, &[]),
    ja("高めた", Cue::Up, &[]), ja("高め", Cue::Up, &[]), ja("高まる", Cue::Up, &[]),
    ja("高まり", Cue::Up, &[]), ja("高まっ", Cue::Up, &[]), ja("高い", Cue::Up, &[]),
    ja("高かっ", Cue::Up, &[]), ja("高く", Cue::Up, &[]), ja("増え", Cue::Up, &[]),
    ja("増やさ", Cue::Up, &[]), ja("増やす", Cue::Up, &[]), ja("増やし", Cue::Up, &[]), ja("上げ", Cue::Up, &[]), ja("上が", Cue::Up, &[]),
    ja("多い", Cue::Up, &[]), ja("多かっ", Cue::Up, &[]), ja("多く", Cue::Up, &[]),
    ja("上回", Cue::Up, &[]), ja("誘発", Cue::Up, &[]), ja("誘導", Cue::Up, &[]),
    ja("延長", Cue::Up, &[]), ja("長い", Cue::Up, &[]), ja("長かっ", Cue::Up, &[]),
    ja("活性化", Cue::Up, &[]), ja("減少", Cue::Down, &[]), ja("低下", Cue::Down, &[]),
    ja("低減", Cue::Down, &[]), ja("減ら", Cue::Down, &[]), ja("減っ", Cue::Down, &[]),
    ja("減る", Cue::Down, &[]), ja("抑制", Cue::Down, &[]), ja("抑え", Cue::Down, &[]),
    ja("予防", Cue::Down, &[]), ja("防ぐ", Cue::Down, &[]), ja("防い", Cue::Down, &[]),
    ja("低い", Cue::Down, &[]), ja("低かっ", Cue::Down, &[]), ja("低く", Cue::Down, &[]),
    ja("少ない", Cue::Down, &[]), ja("少なかっ", Cue::Down, &[]), ja("少なく", Cue::Down, &[]),
    ja("下げ", Cue::Down, &[]), ja("下が", Cue::Down, &[]), ja("軽減", Cue::Down, &[]), ja("短縮", Cue::Down, &[]),
    ja("下回", Cue::Down, &[]), ja("阻害し", Cue::Down, &[]), ja("消失", Cue::Down, &[]),
    ja("遅延", Cue::Down, &[]), ja("遅らせ", Cue::Down, &[]), ja("改善", Cue::Good, &[]),
    ja("有効", Cue::Good, &[]), ja("有益", Cue::Good, &[]), ja("優れ", Cue::Good, &[]),
    ja("優越", Cue::Good, &[]), ja("良好", Cue::Good, &[]), ja("安全", Cue::Good, &[]),
    ja("回復", Cue::Good, &[]), ja("悪化", Cue::Bad, &[]), ja("有害", Cue::Bad, &[]),
    ja("劣", Cue::Bad, &[]), ja("不良", Cue::Bad, &[]), ja("無効", Cue::Bad, &[]),
    ja("危険", Cue::Bad, &[]), ja("有意差なし", Cue::Same, &[]), ja("有意差はな", Cue::Same, &[]),
    ja("有意差がな", Cue::Same, &[]), ja("差はな", Cue::Same, &[]), ja("差がな", Cue::Same, &[]),
    ja("差なし", Cue::Same, &[]), ja("同等", Cue::Same, &[]), ja("同程度", Cue::Same, &[]),
    ja("同様", Cue::Same, &[]), ja("中立", Cue::Same, &[]), ja("変わら", Cue::Same, &[]),
    ja("非劣性", Cue::Same, &[]), ja("無関係", Cue::Same, &[]), ja("不変", Cue::Same, &[]),
    ja("関係な", Cue::Same, &[]), ja("有意差", Cue::Differ, &[]), ja("差は", Cue::Differ, &[]),
    ja("差が", Cue::Differ, &[]), ja("差を", Cue::Differ, &[]), ja("変化", Cue::Differ, &[]),
    ja("違い", Cue::Differ, &[]), ja("異な", Cue::Differ, &[]), ja("関連", Cue::Link, &[]),
    ja("相関", Cue::Link, &[]), ja("影響", Cue::Link, &[]), ja("関与", Cue::Link, &[]),
    ja("寄与", Cue::Link, &[]), ja("原因", Cue::Link, &[]), ja("引き起こ", Cue::Link, &[]),
    ja("効果", Cue::Link, &[]), ja("もたらす", Cue::Link, &[]), ja("もたらし", Cue::Link, &[]),
    ja("証拠", Cue::Link, &[]), ja("なかった", Cue::NotBefore, &[]),
    ja("ない", Cue::NotBefore, &[]), ja("なく", Cue::NotBefore, &[]),
    ja("ません", Cue::NotBefore, &[]), ja("せず", Cue::NotBefore, &[]),
    ja("られず", Cue::NotBefore, &[]), ja("れず", Cue::NotBefore, &[]),
    ja("なし", Cue::NotBefore, &[]), ja("ならず", Cue::NotBefore, &[]),
    ja("わず", Cue::NotBefore, &[]), ja("乏し", Cue::NotBefore, &[]),
    ja("否定", Cue::NotBefore, &[]), ja("は", Cue::None, &[]),
    ja("または", Cue::None, &[]), ja("あるいは", Cue::None, &[]), ja("では", Cue::None, &[]),
    ja("だけでなく", Cue::None, &[]),
    ja("のみならず", Cue::None, &[]), ja("のみでなく", Cue::None, &[]),
    ja("かもしれない", Cue::Hedge, &[]), ja("少なくとも", Cue::None, &[]),
    ja("間もなく", Cue::None, &[]), ja("有意", Cue::Observed, &[]),
    ja("認め", Cue::Observed, &[]), ja("みられ", Cue::Observed, &[]),
    ja("見られ", Cue::Observed, &[]), ja("示され", Cue::Result, &[]),
    ja("示した", Cue::Result, &[]), ja("示唆", Cue::Hedge, &[]), ja("可能性", Cue::Hedge, &[]),
    ja("結論", Cue::Result, &[]), ja("明らか", Cue::Result, &[]), ja("一方", Cue::Contrast, &[]),
    ja("しかし", Cue::Contrast, &[]), ja("ものの", Cue::Contrast, &[]),
    ja("が、", Cue::Contrast, &[]), ja("が，", Cue::Contrast, &[]),
    ja("のに対し", Cue::Contrast, &[]), ja("対照的", Cue::Contrast, &[]),
    ja("ただし", Cue::Contrast, &[]), ja("よりも", Cue::ThanBefore, &[]),
    ja("より", Cue::ThanBefore, &[]), ja("に比べ", Cue::ThanBefore, &[]),
    ja("と比べ", Cue::ThanBefore, &[]), ja("と比較し", Cue::ThanBefore, &[]),
    ja("に比し", Cue::ThanBefore, &[]), ja("に比較し", Cue::ThanBefore, &[]),
    ja("により", Cue::None, &[]), ja("によりも", Cue::ThanBefore, &[]),
    ja("かどうか", Cue::Whether, &[]), ja("検討", Cue::Whether, &[]),
    ja("目的", Cue::Whether, &[]), ja("推奨", Cue::None, &[]), ja("必要がある", Cue::None, &[]),
    ja("注意しながら", Cue::None, &[]), ja("不明", Cue::Whether, &[]),
    ja("調査し", Cue::Whether, &[]), ja("評価した", Cue::Whether, &[]),
    ja("患者", Cue::Population, &["patients"]), ja("成人", Cue::Population, &["adults"]),
    ja("参加者", Cue::Population, &["participants"]), ja("女性", Cue::Population, &["women"]),
    ja("男性", Cue::Population, &["men"]), ja("小児", Cue::Population, &["children"]),
    ja("マウス", Cue::Population, &["mice"]), ja("高齢者", Cue::Population, &["elderly"]),
    ja("心不全", Cue::None, &["heart", "failure"]), ja("入院", Cue::None, &["hospitalization"]),
    ja("糖尿病", Cue::None, &["diabetes"]), ja("型", Cue::None, &["type"]),
    ja("リスク", Cue::None, &["risk"]), ja("発症率", Cue::None, &["risk"]),
    ja("発生率", Cue::None, &["risk"]), ja("死亡", Cue::None, &["death"]),
    ja("死亡率", Cue::None, &["mortality"]), ja("全死亡", Cue::None, &["all-cause", "death"]),
    ja("心血管死", Cue::None, &["cardiovascular", "death"]),
    ja("心筋梗塞", Cue::None, &["myocardial", "infarction"]),
    ja("脳卒中", Cue::None, &["stroke"]), ja("心血管", Cue::None, &["cardiovascular"]),
    ja("阻害薬", Cue::None, &["inhibitor"]), ja("阻害剤", Cue::None, &["inhibitor"]),
    ja("プラセボ", Cue::None, &["placebo"]), ja("治療", Cue::None, &["treatment"]),
    ja("投与", Cue::None, &["treatment"]), ja("血圧", Cue::None, &["blood", "pressure"]),
    ja("血糖", Cue::None, &["glucose"]), ja("腎", Cue::None, &["kidney"]),
    ja("腎機能", Cue::None, &["kidney", "function"]), ja("体重", Cue::None, &["weight"]),
    ja("骨折", Cue::None, &["fracture"]), ja("がん", Cue::None, &["cancer"]),
    ja("癌", Cue::None, &["cancer"]), ja("膵炎", Cue::None, &["pancreatitis"]),
    ja("低血糖", Cue::None, &["hypoglycemia"]), ja("高血圧", Cue::None, &["hypertension"]),
    ja("肥満", Cue::None, &["obesity"]), ja("喫煙", Cue::None, &["smoking"]),
    ja("運動", Cue::None, &["exercise"]), ja("睡眠", Cue::None, &["sleep"]),
    ja("認知症", Cue::None, &["dementia"]), ja("ワクチン", Cue::None, &["vaccine"]),
    ja("感染", Cue::None, &["infection"]), ja("低用量", Cue::None, &["low", "dose"]),
    ja("高用量", Cue::None, &["high", "dose"]),
];

/// FNV-1a: these maps hold words of ours only, so nobody can choose keys that collide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A table of our own words.
pub(super) type Table<K, V> = HashMap<K, V, BuildHasherDefault<Fnv>>;

static CUES_BY_WORD: LazyLock<Table<&'static str, Cue>> = LazyLock::new(|| flatten(CUE_WORDS));
static CUES_BY_STEM: LazyLock<Table<&'static str, Cue>> = LazyLock::new(|| flatten(CUE_STEMS));
static STOPS: LazyLock<Table<&'static str, ()>> =
    LazyLock::new(|| STOP_WORDS.iter().map(|w| (*w, ())).collect());
static GENERIC: LazyLock<Table<&'static str, ()>> =
    LazyLock::new(|| GENERIC_STEMS.iter().map(|w| (*w, ())).collect());
static CANONICAL: LazyLock<Table<&'static str, &'static str>> = LazyLock::new(|| {
    SYNONYMS
        .iter()
        .flat_map(|group| group.iter().map(|w| (*w, group[0])))
        .collect()
});
type TermsFrom = Vec<(Vec<char>, &'static JapaneseTerm)>;
/// Japanese terms by first character, longest first.
static JAPANESE: LazyLock<Table<char, TermsFrom>> = LazyLock::new(|| {
    let mut by_first: Table<char, TermsFrom> = Table::default();
    for term in JAPANESE_TERMS {
        let chars: Vec<char> = term.text.chars().collect();
        by_first.entry(chars[0]).or_default().push((chars, term));
    }
    for terms in by_first.values_mut() {
        terms.sort_by_key(|(chars, _)| std::cmp::Reverse(chars.len()));
    }
    by_first
});

fn flatten(table: &[(Cue, &[&'static str])]) -> Table<&'static str, Cue> {
    table
        .iter()
        .flat_map(|(cue, words)| words.iter().map(|w| (*w, *cue)))
        .collect()
}

/// The cue of an English word, looked up whole and then by its stem.
pub(super) fn cue(lower: &str, stem: &str) -> Cue {
    CUES_BY_WORD
        .get(lower)
        .or_else(|| CUES_BY_STEM.get(stem))
        .copied()
        .unwrap_or(Cue::None)
}

/// The stem that stands for all of a stem's synonyms.
pub(super) fn canonical(stem: &str) -> &str {
    CANONICAL.get(stem).copied().unwrap_or(stem)
}

/// Whether the word says nothing about the topic.
pub(super) fn is_stop_word(lower: &str) -> bool {
    STOPS.contains_key(lower)
}

/// How much sharing a word says about being on one topic: 0, 0.3 or 1.
pub(super) fn word_weight(lower: &str, stem: &str) -> f64 {
    if is_stop_word(lower) {
        0.0
    } else if GENERIC.contains_key(stem)
        || GENERIC.contains_key(lower)
        || lower.chars().count() == 1
    {
        0.3
    } else {
        1.0
    }
}

/// The same for a piece of Chinese or Japanese text.
pub(super) fn cjk_weight(text: &str) -> f64 {
    if matches!(
        text,
        "本研"
            | "研究"
            | "結果"
            | "方法"
            | "対象"
            | "試験"
            | "比較"
            | "解析"
            | "分析"
            | "報告"
            | "群間"
            | "対照"
            | "我々"
            | "今回"
            | "以上"
            | "以下"
            | "場合"
            | "時間"
            | "期間"
            | "年間"
            | "データ"
            | "グループ"
    ) {
        0.3
    } else {
        1.0
    }
}

/// The longest known Japanese term at the start of `chars`, with its length in characters.
pub(super) fn japanese_term(chars: &[char]) -> Option<(usize, &'static JapaneseTerm)> {
    let candidates = JAPANESE.get(chars.first()?)?;
    candidates
        .iter()
        .find(|(term, _)| chars.starts_with(term))
        .map(|(term, t)| (term.len(), *t))
}
