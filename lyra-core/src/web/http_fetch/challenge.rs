//! Detects pages that are shown instead of the document: "are you human", a login, a cookie wall.
//!
//! Such a page (a gate) has little text. Ordinary pages contain the same widgets (a CAPTCHA under a
//! comment form, a login box in the header, a cookie banner) around a long text, and articles write
//! about all of them. So, apart from the few markers that only a gate has, a marker counts only if
//! it is in markup and the page has almost no text.

use reqwest::StatusCode;

/// A page with status 200 and more visible characters than this is not a gate.
const LITTLE_TEXT: usize = 1_000;

/// The same for an error page, which is not the document in any case.
const ERROR_TEXT: usize = 4_000;

/// Maximum number of visible characters of a gate that is recognised by its text alone: such gates
/// are shorter than pages with a banner over a text.
const GATE_TEXT: usize = 600;

/// Phrases on a page without a form for users who have not signed in.
const LOGIN_WALLS: &[&str] = &[
    "you must be logged in to",
    "you must be signed in to",
    "you need to log in to",
    "you need to be logged in to",
    "please log in to continue",
    "please log in to view",
    "please sign in to continue",
    "please sign in to view",
    "log in to read the full",
    "sign in to read the full",
    "ログインが必要です",
    "ログインしてください",
];

/// Phrases on a page for browsers that store no cookies.
const COOKIE_WALLS: &[&str] = &[
    "must enable cookies",
    "must accept cookies",
    "please enable cookies",
    "enable cookies to continue",
    "accept cookies to continue",
    "cookies required",
    "cookies are required",
    "cookieを有効に",
    "クッキーを有効に",
];

/// How much of a page is examined, in bytes.
pub(super) const WINDOW: usize = 1024 * 1024;

/// The kind of gate that was returned instead of the requested document; `None` if the page is not
/// a gate.
///
/// The kinds are those of `auth_queue.auth_type`: `cloudflare`, `js_challenge`, `turnstile`,
/// `hcaptcha`, `recaptcha`, `captcha`, `login`, `cookie_consent`. `status` is the HTTP status of
/// the page, and `headers` are its headers, whose names are case-insensitive.
///
/// ```
/// use lyra_core::web::detect_challenge;
/// let page = br#"<div class="h-captcha"></div>"#;
/// assert_eq!(detect_challenge(page, 200, &[]), Some("hcaptcha"));
/// assert_eq!(detect_challenge(b"<p>A paper</p>", 403, &[("CF-Mitigated", "challenge")]), Some("cloudflare"));
/// ```
pub fn detect_challenge(
    body: &[u8],
    status: u16,
    headers: &[(&str, &str)],
) -> Option<&'static str> {
    let mitigated = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("cf-mitigated"))
        .map(|(_, value)| value.trim());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    detect(status, mitigated, body)
}

/// The kind of gate, as stored in `auth_queue.auth_type`: `cloudflare`, `js_challenge`,
/// `turnstile`, `hcaptcha`, `recaptcha`, `captcha`, `login`, `cookie_consent`.
///
/// `mitigated` is the header `cf-mitigated`, with which Cloudflare itself marks a challenge.
pub(super) fn detect(
    status: StatusCode,
    mitigated: Option<&str>,
    body: &[u8],
) -> Option<&'static str> {
    let page = PageParts::read(&String::from_utf8_lossy(&body[..body.len().min(WINDOW)]));
    let widget = widget(&page);
    if mitigated == Some("challenge") {
        return Some(widget.unwrap_or("cloudflare"));
    }
    if page.code_has(&[
        "_cf_chl_opt",
        "__cf_chl_tk",
        "/orchestrate/chl_page",
        "/orchestrate/jsch",
    ]) {
        return Some(widget.unwrap_or("cloudflare"));
    }
    if has_challenge_form(&page)
        || (page.tags_have(&["challenge-form"]) && page.code_has(&["/cdn-cgi/l/chk_"]))
    {
        return Some(widget.unwrap_or("js_challenge"));
    }
    let most = if status.is_success() {
        LITTLE_TEXT
    } else {
        ERROR_TEXT
    };
    if page.visible > most {
        return None;
    }
    login(&page)
        .or(widget)
        .or_else(|| waiting_room(&page))
        .or_else(|| cookie_wall(&page))
}

/// Cloudflare's challenge of 2015 to 2021: a form that sends the result of a computation in the
/// browser. Its target and the names of its fields have changed; each name occurs only in that
/// form.
fn has_challenge_form(page: &PageParts) -> bool {
    page.tags.lines().any(|tag| {
        let has = |marks: &[&str]| marks.iter().any(|mark| tag.contains(mark));
        match tag.split(|c: char| !c.is_ascii_alphanumeric()).next() {
            Some("form") => {
                tag.contains("challenge-form") && has(&["__cf_chl_", "/cdn-cgi/l/chk_"])
            }
            Some("input") => has(&["jschl_vc", "jschl_answer", "jschl-answer"]),
            _ => false,
        }
    })
}

/// A widget that a human has to complete.
fn widget(page: &PageParts) -> Option<&'static str> {
    if page.tags_have(&["h-captcha", "hcaptcha.com"]) {
        Some("hcaptcha")
    } else if page.tags_have(&["cf-turnstile", "challenges.cloudflare.com/turnstile"]) {
        Some("turnstile")
    } else if page.tags_have(&["g-recaptcha", "/recaptcha/api2/anchor"]) {
        Some("recaptcha")
    } else if page.tags_have(&[
        "data-sitekey",
        "captcha-container",
        "px-captcha",
        "captcha-delivery.com",
        "awswaf.com/captcha",
    ]) || page.code_has(&["captcha-delivery.com/c.js"])
    {
        Some("captcha")
    } else {
        None
    }
}

/// A page that asks to wait while the browser is checked.
fn waiting_room(page: &PageParts) -> Option<&'static str> {
    let says = |phrases: &[&str]| phrases.iter().any(|p| page.text.contains(p));
    if page.tags_have(&[
        "_incapsula_resource",
        "anubis_challenge",
        "/.within.website/",
    ]) || page.code_has(&["awswafintegration", "gokuprops"])
    {
        return Some("js_challenge");
    }
    let title = page.title.trim();
    if title.starts_with("just a moment") && says(&["cloudflare"]) {
        return Some("js_challenge");
    }
    let checking = [
        "checking your browser before accessing",
        "checking if the site connection is secure",
        "please wait while we verify your browser",
        "verifying you are human",
        "verify you are human by completing",
        "needs to review the security of your connection",
    ];
    let is_titled = title.starts_with("just a moment")
        || (title.starts_with("attention required") && title.contains("cloudflare"));
    if says(&checking) || has_ray_id(&page.text) || is_titled {
        return Some("cloudflare");
    }
    None
}

/// "Ray ID: 5f2c…", which Cloudflare adds to its pages.
fn has_ray_id(text: &str) -> bool {
    text.split("ray id:").skip(1).any(|after| {
        after
            .trim_start()
            .starts_with(|c: char| c.is_ascii_hexdigit())
    })
}

/// A form that asks for a password, on a page that requires signing in; or a page with only a few
/// words that say so.
fn login(page: &PageParts) -> Option<&'static str> {
    if !page.has_password_field {
        let says = |phrase: &&str| page.text.contains(*phrase);
        let is_all = page.visible <= GATE_TEXT && LOGIN_WALLS.iter().any(says);
        return is_all.then_some("login");
    }
    let names = [
        "sign in",
        "signin",
        "log in",
        "login",
        "ログイン",
        "サインイン",
    ];
    let asks = [
        "please sign in",
        "please log in",
        "please login",
        "sign in to continue",
        "log in to continue",
        "sign in to your account",
        "log in to your account",
        "you must be logged in",
        "ログインしてください",
        "ログインが必要",
    ];
    let named = names.iter().any(|name| page.title.contains(name));
    let asked = asks.iter().any(|phrase| page.text.contains(phrase));
    (named || asked).then_some("login")
}

/// A page that contains only the question whether cookies may be set, or the statement that they
/// are required.
fn cookie_wall(page: &PageParts) -> Option<&'static str> {
    if page.visible > GATE_TEXT {
        return None;
    }
    let says = |phrase: &&str| page.text.contains(*phrase) || page.title.contains(*phrase);
    if COOKIE_WALLS.iter().any(says) {
        return Some("cookie_consent");
    }
    let about = [
        "use cookies",
        "uses cookies",
        "クッキーを使用",
        "cookieを使用",
    ];
    let button = [
        "accept all",
        "accept cookies",
        "i agree",
        "同意する",
        "同意します",
    ];
    let has = |phrases: &[&str]| phrases.iter().any(|p| page.text.contains(p));
    (has(&about) && has(&button)).then_some("cookie_consent")
}

/// The parts of a page that matter here, in lower case.
#[derive(Debug, Default)]
struct PageParts {
    title: String,
    /// The visible text, with its original white space.
    text: String,
    /// Number of visible characters; a run of white space counts as one.
    visible: usize,
    /// The text between `<` and `>`.
    tags: String,
    /// The content of scripts.
    scripts: String,
    has_password_field: bool,
}

/// Elements whose content is invisible, or code.
const UNSEEN: &[&str] = &["script", "style", "noscript", "template", "svg", "title"];

impl PageParts {
    /// Reads the page in one pass, in time linear in its length.
    fn read(html: &str) -> Self {
        let html = html.to_lowercase();
        let mut page = Self::default();
        let mut rest = html.as_str();
        while let Some(start) = rest.find('<') {
            page.text.push_str(&rest[..start]);
            rest = &rest[start..];
            if let Some(comment) = rest.strip_prefix("<!--") {
                rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
                continue;
            }
            if !rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!')) {
                page.text.push('<');
                rest = &rest[1..];
                continue;
            }
            let end = rest.find('>').unwrap_or(rest.len());
            let tag = &rest[1..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            page.add_tag(tag);
            let name = tag
                .split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default();
            if UNSEEN.contains(&name) && !tag.ends_with('/') {
                rest = page.skip_content(name, rest);
            }
        }
        page.text.push_str(rest);
        let words = page.text.split_whitespace();
        page.visible = words.map(|word| word.chars().count() + 1).sum();
        page
    }

    fn add_tag(&mut self, tag: &str) {
        self.tags.push_str(tag);
        self.tags.push('\n');
        let is_input = tag.starts_with("input");
        self.has_password_field |= is_input
            && ["type=\"password\"", "type='password'", "type=password"]
                .iter()
                .any(|field| tag.contains(field));
        // The next word must not run into the last one.
        self.text.push(' ');
    }

    /// Consumes the content of an element that is not text; returns the rest.
    fn skip_content<'a>(&mut self, name: &str, rest: &'a str) -> &'a str {
        let end = rest.find(&format!("</{name}")).unwrap_or(rest.len());
        let content = &rest[..end];
        match name {
            "script" => self.scripts.push_str(content),
            "title" if self.title.is_empty() => self.title.push_str(content),
            // The content shown without scripts includes the widgets of gates that work without
            // scripts.
            "noscript" => self.tags.push_str(content),
            _ => {}
        }
        &rest[end..]
    }

    fn tags_have(&self, marks: &[&str]) -> bool {
        marks.iter().any(|mark| self.tags.contains(mark))
    }

    fn code_has(&self, marks: &[&str]) -> bool {
        self.tags_have(marks) || marks.iter().any(|mark| self.scripts.contains(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;
    use std::path::{Path, PathBuf};

    /// Cases that are judged differently from the reference, with the reason.
    const DIFFERENCES: &[(&str, Option<&str>, &str)] = &[
        (
            "hcaptcha_src_www",
            Some("hcaptcha"),
            "an iframe of www.hcaptcha.com is an hCaptcha, whoever serves the page",
        ),
        (
            "captcha_container",
            Some("captcha"),
            "the name of an element does not say that Cloudflare made it",
        ),
    ];

    #[test]
    fn gates_are_told_as_in_the_reference_but_for_named_differences() {
        for row in reference_cases("challenge_detect") {
            let mut html = row["html"].as_str().unwrap().to_owned();
            if let Some(length) = row["pad_to_len"].as_u64() {
                while html.len() < usize::try_from(length).unwrap() {
                    html += if html.ends_with(' ') { "x" } else { " " };
                }
            }
            let case = row["case"].as_str().unwrap();
            let expected = match DIFFERENCES.iter().find(|(name, ..)| *name == case) {
                Some((_, ours, why)) => {
                    assert_ne!(
                        *ours,
                        row["challenge"].as_str(),
                        "{case} is no difference: {why}"
                    );
                    *ours
                }
                None => row["challenge"].as_str(),
            };
            let found = detect(StatusCode::OK, None, html.as_bytes());
            assert_eq!(found, expected, "{row}");
        }
    }

    #[test]
    fn gates_are_told_from_pages_about_them() {
        let prose =
            "An article about how CAPTCHA works, with g-recaptcha and Ray ID: in its text. ";
        let widget = "<div class=\"g-recaptcha\" data-sitekey=\"k\"></div>";
        let login = "<title>Sign in</title><form><input name=p type='password'></form>";
        let anubis = "<title>Making sure you're not a bot!</title><script id=\"anubis_challenge\" type=\"application/json\">{}</script>";
        let cases: &[(u16, Option<&str>, String, Option<&str>)] = &[
            (200, None, format!("<p>{}</p>{widget}", prose.repeat(20)), None),
            (200, None, format!("<p>{prose}</p><pre>&lt;div class=\"h-captcha\"&gt;</pre>"), None),
            (200, None, format!("<p>{}</p>", prose.repeat(20)), None),
            (403, None, format!("<p>{}</p>{widget}", prose.repeat(20)), Some("recaptcha")),
            (403, None, "<h1>Forbidden</h1>".to_owned(), None),
            (403, Some("challenge"), "<h1>x</h1>".to_owned(), Some("cloudflare")),
            (200, None, format!("{login}{widget}"), Some("login")),
            (200, None, format!("{login}<p>{}</p>", prose.repeat(20)), None),
            (200, None, anubis.to_owned(), Some("js_challenge")),
            (200, None, "<script>console.log('_cf_chl_opt')</script>".to_owned(), Some("cloudflare")),
            (200, None, "<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script><p>Short news.".to_owned(), None),
            (200, None, "<!-- h-captcha --><p>A short page.".to_owned(), None),
            (200, None, "1 < 2 <b".to_owned(), None),
            (503, None, "<h1>One moment</h1><form class=a id='challenge-form' action='/a?__cf_chl_jschl_tk__=0a-1-Ab' method=POST><input type=hidden name=r></form>".to_owned(), Some("js_challenge")),
            (503, None, format!("<p>{}</p><form id=challenge-form action=\"/?q=1&amp;__cf_chl_managed_tk__=0a\"></form>", prose.repeat(60)), Some("js_challenge")),
            (503, None, "<form action=/a><input type=\"hidden\" name=\"jschl_vc\" value=\"1\"/><input name=pass></form>".to_owned(), Some("js_challenge")),
            (403, None, "<form id=challenge-form action='/?__cf_chl_captcha_tk__=0a'><div class=h-captcha></div></form>".to_owned(), Some("hcaptcha")),
            (200, None, "<p>Sent as <code>__cf_chl_jschl_tk__</code> and jschl_vc by &lt;form id=challenge-form>.</p>".to_owned(), None),
            (200, None, "<form id=challenge-form action=/enter><p>Enter our photo challenge.</p><input name=answer></form>".to_owned(), None),
            (403, None, "<title>Attention Required! | Cloudflare</title><h1>Sorry</h1>".to_owned(), Some("cloudflare")),
            (200, None, "<div class=\"cookie-wall\">Please accept cookies to continue.</div>".to_owned(), Some("cookie_consent")),
            (403, None, "<title>Cookies required</title><p>Your browser keeps none.</p>".to_owned(), Some("cookie_consent")),
            (200, None, "<h1>Trial X</h1><p>You must be logged in to view this article.</p>".to_owned(), Some("login")),
            (200, None, format!("<p>You must be logged in to comment.</p><p>{}</p>", prose.repeat(20)), None),
            (200, None, format!("<p>Please enable cookies.</p><p>{}</p>", prose.repeat(20)), None),
        ];
        for (status, header, html, expected) in cases {
            let status = StatusCode::from_u16(*status).unwrap();
            assert_eq!(
                detect(status, *header, html.as_bytes()),
                *expected,
                "{html}"
            );
        }
    }

    fn html_files(folder: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../shared/data")
            .join(folder);
        let Ok(entries) = std::fs::read_dir(&folder) else {
            eprintln!("skipped: {} is not there", folder.display());
            return Vec::new();
        };
        let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "html"));
        files.sort();
        files
    }

    #[test]
    fn real_gates_are_found_and_real_pages_are_none() {
        for path in html_files("challenge-pages/cloudflare-scrape") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let expected = match name.as_str() {
                "requested_page.html" => None,
                "cf_recaptcha_15_04_2019.html" => Some("recaptcha"),
                _ => Some("js_challenge"),
            };
            let html = std::fs::read(&path).unwrap();
            for status in [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE] {
                assert_eq!(detect(status, None, &html), expected, "{name}");
            }
        }
        let pages = html_files("extraction-dev/html");
        let mut taken = Vec::new();
        for path in &pages {
            if let Some(kind) = detect(StatusCode::OK, None, &std::fs::read(path).unwrap()) {
                taken.push((path.file_name().unwrap().to_owned(), kind));
            }
        }
        eprintln!(
            "{} of {} ordinary pages taken for gates",
            taken.len(),
            pages.len()
        );
        assert!(taken.is_empty(), "{taken:?}");
    }

    #[test]
    fn the_cost_of_hostile_pages_is_linear() {
        let begun = std::time::Instant::now();
        for piece in [
            "<",
            "<a",
            "<script>",
            "<title",
            "<!--",
            "<p>x",
            "<noscript>",
            "<svg/>",
        ] {
            detect(
                StatusCode::OK,
                None,
                piece.repeat(WINDOW / piece.len()).as_bytes(),
            );
        }
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(body in proptest::collection::vec(any::<u8>(), 0..400)) {
            detect(StatusCode::OK, None, &body);
        }

        #[test]
        fn any_markup_is_judged(body in "[<>/!a-z\\- ='\"İß]{0,120}") {
            detect(StatusCode::FORBIDDEN, None, body.as_bytes());
        }
    }
}
