//! The judge that a configuration names: what is said of it, and where it cannot be opened.

use crate::embedders::run;
use std::path::Path;

#[test]
fn the_builtin_judge_is_named_and_what_would_be_better() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    for arguments in [&["doctor"][..], &["--judge", "builtin", "doctor"]] {
        let (_, out, _) = run(&db, &[], arguments);
        let named = out.contains("judge          builtin\n");
        assert_eq!(named, arguments.len() > 1, "{out}");
        assert!(
            out.contains("ok    stance judge: lyra-minilm-judge-v6 (built-in)"),
            "{out}"
        );
        assert!(out.contains("docs/judges.md"), "{out}");
    }
}

#[test]
fn a_judge_that_cannot_be_opened_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    // A graph that is there before, to see that it is there afterwards.
    assert_eq!(run(&db, &[], &["views"]).0, Some(0));
    let (onnx, http) = (cfg!(feature = "onnx"), cfg!(feature = "http"));
    for (judge, address, built, why, hint) in [
        (
            "onnx:/nowhere/model",
            "http://unused",
            onnx,
            "there is no model at /nowhere/model",
            "docs/judges.md",
        ),
        (
            "ollama:m",
            "ftp://h",
            http,
            "must begin with http://",
            "http://127.0.0.1:11434",
        ),
    ] {
        let (why, hint) = match built {
            true => (why, hint),
            false => ("this build does not include", "--features"),
        };
        let flags = ["--judge", judge, "--judge-url", address];
        let (code, out, _) = run(&db, &[], &[&flags[..], &["doctor"]].concat());
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains(&format!("judge          {judge}\n")), "{out}");
        let mut lines = out.lines();
        let line = lines
            .find(|line| line.starts_with("FAIL  stance judge: "))
            .unwrap();
        assert!(line.contains(why), "{judge}: {line}");
        assert!(out.contains(hint), "{judge}: {out}");
        assert!(
            out.contains("ok    database: "),
            "the rest is looked at: {out}"
        );
        let (code, out, errors) = run(&db, &[], &[&flags[..], &["models", "list"]].concat());
        assert_eq!((code, out.as_str()), (Some(1), ""), "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
    // What needs no judge opens none.
    let arguments = ["--judge", "onnx:/nowhere/model", "verify"];
    let (code, _, errors) = run(&db, &[], &arguments);
    assert_eq!(code, Some(0), "{errors}");
    let (code, _, errors) = run(&db, &[], &["--judge", "candle:x", "verify"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("onnx:FOLDER"), "{errors}");
}

#[cfg(feature = "http")]
#[test]
fn a_judge_on_a_server_is_named_and_no_second_one_stands_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let env = [
        ("LYRA_JUDGE", Path::new("openai:m")),
        ("LYRA_JUDGE_KEY", Path::new("sk-verysecret")),
        ("LYRA_JUDGE_URL", Path::new("http://127.0.0.1:9/v1")),
    ];
    std::fs::write(folder.path().join("a.md"), "# Tea\n\nTea helps.\n").unwrap();
    let corpus = folder.path().to_str().unwrap();
    let (code, out, _) = run(&db, &env, &["--corpus", corpus, "doctor"]);
    assert_eq!(code, Some(0), "{out}");
    let line = out
        .lines()
        .find(|line| line.starts_with("ok    stance judge: "));
    let line = line.unwrap();
    assert!(
        line.contains("openai:m@127.0.0.1:9") && line.contains("key from LYRA_JUDGE_KEY"),
        "{line}"
    );
    assert!(!out.contains("sk-verysecret"));
    let two = [
        "--judge",
        "openai:m",
        "--llm",
        "ollama:l",
        "--stance-judge",
        "llm",
        "doctor",
    ];
    let (code, out, _) = run(&db, &env, &two);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("FAIL  stance judge: the judge is openai:m, and stance_judge is \"llm\""),
        "{out}"
    );
}
