//! `robots.txt` by RFC 9309: fetched once a day for each origin, and obeyed for every redirect.

use super::body::{self, BodyLimits, Patience};
use super::connect::PRODUCT;
use super::fresh;
use super::request::{Web, redirect_of};
use crate::error::{Error, Result};
use crate::security::url_policy::Refusal;
use reqwest::StatusCode;
use robotxt::{AccessResult, BYTE_LIMIT, Robots};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use url::{Position, Url};

/// Maximum time for which the rules are kept (RFC 9309, section 2.4); servers may ask for less.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Minimum time, regardless of the server's caching headers.
const SHORTEST_LIFE: Duration = Duration::from_secs(10 * 60);

/// How long an unreachable file is assumed to stay unreachable before it is requested again.
const UNREACHABLE_LIFE: Duration = Duration::from_secs(5 * 60);

/// Maximum number of redirects to the file (RFC 9309, section 2.3.1.2).
const MOST_REDIRECTS: usize = 5;

/// Time limit for the file, including redirects.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum delay that a file can request; some request hours.
const LONGEST_DELAY: Duration = Duration::from_secs(20);

/// Maximum number of origins that are remembered.
const MOST_ORIGINS: usize = 4096;

/// The rules of all visited origins.
#[derive(Debug, Default)]
pub(super) struct RobotsCache {
    origins: Mutex<HashMap<String, Arc<Origin>>>,
}

/// One caller fetches while the others wait for the result.
type Origin = tokio::sync::Mutex<Option<CachedRules>>;

#[derive(Debug)]
struct CachedRules {
    rules: Rules,
    until: Instant,
}

#[derive(Debug, Clone)]
enum Rules {
    Read(Arc<Robots>),
    /// Why the file could not be read.
    Unreachable(Arc<str>),
}

impl RobotsCache {
    /// The delay that the site requests between two visits, if it allows `url` to be fetched.
    pub(super) async fn check(&self, web: &Web, url: &Url) -> Result<Option<Duration>> {
        let origin = self.origin(&url[..Position::BeforePath]);
        let mut known = origin.lock().await;
        let now = Instant::now();
        let rules = match known.as_ref().filter(|known| known.until > now) {
            Some(known) => known.rules.clone(),
            None => {
                let (rules, life) = fetch(web, url).await?;
                *known = Some(CachedRules {
                    rules: rules.clone(),
                    until: Instant::now() + life,
                });
                rules
            }
        };
        drop(known);
        judge(&rules, url)
    }

    fn origin(&self, name: &str) -> Arc<Origin> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        if origins.len() >= MOST_ORIGINS {
            origins.retain(|_, origin| Arc::strong_count(origin) > 1);
        }
        Arc::clone(origins.entry(name.to_owned()).or_default())
    }
}

fn judge(rules: &Rules, url: &Url) -> Result<Option<Duration>> {
    let robots = match rules {
        Rules::Read(robots) => robots,
        Rules::Unreachable(why) => {
            let why = format!("robots.txt of the site could not be read ({why})");
            return Err(Refusal::RobotsUnreachable.error(url, &why));
        }
    };
    if robots.is_url_allowed(url) {
        return Ok(robots.crawl_delay().map(|delay| delay.min(LONGEST_DELAY)));
    }
    let rule = robots
        .matching_rule(&url[Position::BeforePath..Position::AfterQuery])
        .map_or("/", |rule| rule.pattern());
    let agent = robots.user_agent();
    let why = format!("robots.txt of the site disallows it (\"{rule}\" for {agent})");
    Err(Refusal::Robots.error(url, &why))
}

/// The rules of the origin of `page`, and how long they are valid.
///
/// Only local problems are errors; every behaviour of a server has a defined meaning.
async fn fetch(web: &Web, page: &Url) -> Result<(Rules, Duration)> {
    let mut url = page
        .join("/robots.txt")
        .map_err(|e| Error::invalid(format!("{page}: {e}")))?;
    let mut patience = Patience::new(TIMEOUT.min(web.options.timeout));
    for _ in 0..=MOST_REDIRECTS {
        let hop = async {
            web.check(&url)?;
            web.get(&url, &Default::default(), None).await
        };
        let response = match patience.spend(&url, hop).await {
            Ok(response) => response,
            Err(e) => return Ok(unreachable(e.message())),
        };
        match redirect_of(&url, &response) {
            Ok(Some(next)) => {
                url = next;
                continue;
            }
            Ok(None) => {}
            Err(e) => return Ok(unreachable(e.message())),
        }
        let status = response.status();
        // RFC 9309 counts 429 as "unavailable, so allowed", but a server that reports too many
        // requests should not be visited.
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Ok(unreachable(&format!("{url} answered {status}")));
        }
        let life = fresh::lifetime(response.headers()).unwrap_or(LONGEST_LIFE);
        let life = life.clamp(SHORTEST_LIFE, LONGEST_LIFE);
        if !status.is_success() {
            return Ok((read(AccessResult::Unavailable), life));
        }
        let limits = BodyLimits {
            // One byte more tells the parser that the last line was cut.
            bytes: BYTE_LIMIT + 1,
            cut: true,
            idle: web.options.idle_timeout,
        };
        let body = body::read(&url, response, limits);
        return Ok(match patience.spend(&url, body).await {
            Ok(text) => (read(AccessResult::Successful(&text)), life),
            Err(e) => unreachable(e.message()),
        });
    }
    Ok((read(AccessResult::TooManyRedirects), LONGEST_LIFE))
}

fn read(access: AccessResult<'_>) -> Rules {
    Rules::Read(Arc::new(Robots::from_access(access, PRODUCT)))
}

fn unreachable(why: &str) -> (Rules, Duration) {
    (Rules::Unreachable(why.into()), UNREACHABLE_LIFE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;

    fn allowed(robots: &str, path: &str) -> bool {
        let rules = read(AccessResult::Successful(robots.as_bytes()));
        let url = Url::parse("https://example.org")
            .unwrap()
            .join(path)
            .unwrap();
        let verdict = judge(&rules, &url);
        if let Err(error) = &verdict {
            assert_eq!(Refusal::of(error), Some(Refusal::Robots), "{error}");
        }
        verdict.is_ok()
    }

    /// Cases in which the reference is wrong: the file, the path, what RFC 9309 says, and why.
    const DIFFERENCES: &[(&str, &str, bool, &str)] = &[
        (
            "User-agent: Lyra\nUser-agent: Other\nDisallow: /both",
            "/both",
            false,
            "several user-agent lines in a row share the rules below them (2.2.1)",
        ),
        (
            "User-agent: *\nDisallow: /star\nUser-agent: lyra\nDisallow: /own",
            "/star",
            true,
            "the group for * counts only where no group names the crawler (2.2.1)",
        ),
    ];

    #[test]
    fn files_are_read_as_in_the_reference_but_for_named_differences() {
        let mut different = Vec::new();
        for row in reference_cases("robots") {
            let robots = row["robots"].as_str().unwrap();
            for (path, expected) in row["can_fetch"].as_object().unwrap() {
                let found = allowed(robots, path);
                if found != expected.as_bool().unwrap() {
                    different.push((robots.to_owned(), path.clone(), found));
                }
            }
            let rules = Robots::parse(robots.as_bytes(), PRODUCT);
            let delay = rules.crawl_delay().map(|delay| delay.as_secs_f64());
            assert_eq!(serde_json::json!(delay), row["crawl_delay"], "{robots}");
        }
        for row in reference_cases("robots_path") {
            let robots = format!(
                "User-agent: *\nDisallow: {}",
                row["pattern"].as_str().unwrap()
            );
            let path = row["path"].as_str().unwrap();
            assert_eq!(
                !allowed(&robots, path),
                row["match"].as_bool().unwrap(),
                "{row}"
            );
        }
        for (robots, path, expected, why) in DIFFERENCES {
            assert_eq!(allowed(robots, path), *expected, "{path}: {why}");
        }
        let listed: Vec<_> = DIFFERENCES
            .iter()
            .map(|(robots, path, found, _)| ((*robots).to_owned(), (*path).to_owned(), *found))
            .collect();
        for found in &different {
            assert!(listed.contains(found), "unlisted difference: {found:?}");
        }
    }

    #[test]
    fn files_mean_what_rfc_9309_says() {
        let groups = "User-agent: *\nDisallow: /\n\nUser-agent: lyra\nDisallow: /a\n\nUser-agent: LYRA/1.0\nAllow: /\n\nUser-agent: Lyra\nDisallow: /b\n";
        let cases: &[(&str, &str, bool)] = &[
            ("", "/x", true),
            ("User-agent: *\nDisallow:", "/x", true),
            ("User-agent: *\nDisallow: /", "/x", false),
            ("User-agent: *\nDisallow: /", "/robots.txt", true),
            (groups, "/a", false),
            (groups, "/b", false),
            (groups, "/c", true),
            ("User-agent: *\nDisallow: /p\nAllow: /p/q", "/p/q/r", true),
            ("User-agent: *\nAllow: /p\nDisallow: /p", "/p", true),
            ("User-agent: *\nDisallow: /*?print=", "/x?print=1", false),
            ("User-agent: *\nDisallow: /*?print=", "/x", true),
            ("User-agent: *\nDisallow: /caf%C3%A9", "/café", false),
            ("User-agent: *\nDisallow: /café", "/caf%c3%a9/x", false),
            ("\u{feff}User-agent: *\r\nDisallow: /x\r\n", "/x", false),
            ("User-agent: other\nDisallow: /", "/x", true),
            ("Disallow: /", "/x", true),
            ("<html><body>Not found</body></html>", "/x", true),
        ];
        for (robots, path, expected) in cases {
            assert_eq!(allowed(robots, path), *expected, "{robots:?} {path}");
        }
    }

    #[test]
    fn what_is_past_the_limit_does_not_count_and_hostile_patterns_end() {
        let mut long = "# a comment\n".repeat(BYTE_LIMIT / 12);
        long += "User-agent: *\nDisallow: /\n";
        assert!(allowed(&long, "/x"));
        let begun = std::time::Instant::now();
        let stars = format!("User-agent: *\nDisallow: /{}b\n", "*a".repeat(5_000));
        assert!(allowed(&stars, &format!("/{}", "a".repeat(5_000))));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn delays_are_bounded_and_unreachable_is_a_refusal_of_its_own() {
        let url = Url::parse("https://example.org/x").unwrap();
        for (delay, expected) in [("2.5", 2.5), ("86400", LONGEST_DELAY.as_secs_f64())] {
            let text = format!("User-agent: *\nCrawl-delay: {delay}");
            let found = judge(&read(AccessResult::Successful(text.as_bytes())), &url).unwrap();
            assert_eq!(found.unwrap(), Duration::from_secs_f64(expected));
        }
        let (rules, _) = unreachable("it answered 503");
        let error = judge(&rules, &url).unwrap_err();
        assert_eq!(Refusal::of(&error), Some(Refusal::RobotsUnreachable));
        assert!(error.message().contains("it answered 503"), "{error}");
    }
}
