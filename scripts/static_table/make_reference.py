"""Write reference.json: texts with the pieces, terms and vectors that every encoder must produce.

    python make_reference.py TABLE.lyt reference.json
"""
from __future__ import annotations

import argparse
import json
from hashlib import sha256
from pathlib import Path

from encode import Table, terms

LONG = (
    "Systematic reviews collect every study that answers one question and weigh them together. "
    "The reviewers first write down which studies they will accept, where they will look, and "
    "how they will judge the risk of bias. Two people read each abstract, and a third settles "
    "what they disagree about. For the studies that remain, they copy the numbers of "
    "participants, the doses, the length of follow-up, and the outcomes into a table. When the "
    "studies are alike, a pooled estimate is computed; when they are not, the differences are "
    "described in words. A forest plot shows each estimate with its confidence interval, and a "
    "funnel plot may show that small studies without an effect were never published. The "
    "certainty of the evidence is then graded from high to very low: it falls when the studies "
    "are biased, inconsistent, indirect, or imprecise, and it may rise when the effect is large "
    "or follows the dose. Readers should look at the certainty before they look at the effect. "
    "A precise number that comes from biased studies is still wrong. Reviews also grow old: "
    "half of them need an update within five and a half years, and some are out of date on the "
    "day they appear. Living reviews try to solve this by searching again every month, at a "
    "cost that only a few groups can pay for long. ")

TEXTS = [
    "Aspirin lowers the risk of heart attack.",
    "cat",
    "The quick brown fox jumps over the lazy dog, then the dog chases the fox.",
    "How do I sort a list in Python?",
    LONG,
    LONG * 4,
    "IL-6-deficient (Il6-/-) mice showed a 2.5-fold increase, p=0.003, 95% CI 1.2-4.8.",
    "The apparent diffusion coefficient was 1.8 \u00b5m\u00b2/ms at 28 wk (n = 17).",
    "Mutations in BRCA1/BRCA2, TP53 and PI3Kα drive tumorigenesis via NF-κB.",
    "Naïve café owners in São Paulo, Kraków and Tromsø \u2014 \u00abdéjà vu\u00bb.",
    "\u201cQuoted\u201d text\u2026 \u2018Unicode\u2019 marks \u2013 non\u2011breaking\u00a0space.",
    "Great result \U0001f600\U0001f44d\U0001f3fd! \u2764\ufe0f Ship it \U0001f680",
    "ﬁne ﬂow: \u2460 \u00bd \u2122 ＡＢＣ１２３！",
    "糖尿病患者の血糖値を下げる薬の効果",
    "2型糖尿病患者においてＨｂＡ１ｃが0.8%低下した (randomized controlled trial)。",
    "インスリン抵抗性とは、ｲﾝｽﾘﾝの効きが悪くなることです。",
    "糖尿病是一种慢性代谢性疾病。",
    "당뇨병 환자의 혈당 조절",
    "",
    " \t\r\n\u3000 ",
    "\U0001f9ec\U0001f9ea \u16a0\u16a2\u16a6",
    "x" * 101 + " known words " + "y" * 100,
    "The the THE the; a\u0000b\ufffdc\u200bd e\u0301té İstanbul ΣΣ",
    "See https://example.org/a_b?c=1&d=%20 or call foo::bar<T>(x) -> y; #1 $5 ~90%",
]


def main() -> None:
    """Write the file."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("table", type=Path)
    ap.add_argument("out", type=Path)
    args = ap.parse_args()
    table = Table.load(args.table)
    cases = []
    for text in TEXTS:
        pieces, hashed = terms(text, table.vocab)
        vector = [round(float(x), 6) for x in table.encode(text)]
        cases.append({"text": text, "pieces": pieces, "cjk_terms": [list(t) for t in hashed],
                      "head": vector[:8], "vector": vector})
    digest = sha256(args.table.read_bytes()).hexdigest()
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    args.out.write_text(f'{{"table_sha256": "{digest}", "cases": [\n{lines}\n]}}\n', "utf-8")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()
