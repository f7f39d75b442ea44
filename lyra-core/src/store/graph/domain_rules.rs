//! Domain rules: which domains are blocked, and by which rule.

use super::handles::{Reader, Writer};
use crate::clock::{format_ms, parse_ms};
use crate::error::{Error, Result};
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::model::random_id;
use crate::store::text::url::is_public_suffix;
use rusqlite::params;
use url::{Host, Url};

/// The hosts that a rule covers: a domain and all its subdomains, or, written `*.domain`, only the
/// subdomains.
///
/// ```
/// use lyra_core::store::graph::DomainPattern;
/// let pattern = DomainPattern::parse(" *.Example.org ")?;
/// assert_eq!(pattern.as_str(), "*.example.org");
/// assert!(pattern.matches("news.example.org") && !pattern.matches("example.org"));
/// assert!(DomainPattern::parse("*.co.uk").is_err());
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DomainPattern(String);

impl DomainPattern {
    /// Parses a pattern: a host name, an IP address, `*.` and a host name, or a web address, whose host
    /// is used. A public suffix alone (`com`, `*.co.uk`, `github.io`) is refused, because such a rule
    /// would cover thousands of unrelated publishers.
    ///
    /// # Errors
    ///
    /// `InvalidInput`, which names `domain_pattern`.
    pub fn parse(text: &str) -> Result<Self> {
        let shown: String = text.trim().chars().take(80).collect();
        let wrong = |why: &str| {
            Error::invalid(format!("domain_pattern {shown:?} {why}")).with_hint(
                "write a domain such as example.org, or *.example.org for what is below it",
            )
        };
        let bare = host_of_address(text.trim())
            .ok_or_else(|| wrong("is an address with a path; rules are about whole domains"))?;
        let (below, name) = match bare.strip_prefix("*.") {
            Some(name) => ("*.", name),
            None => ("", bare.as_str()),
        };
        if name.contains('*') || name.contains('?') {
            return Err(wrong("has a wildcard elsewhere than in a leading \"*.\""));
        }
        let name = match Host::parse(name.trim_end_matches('.')) {
            Ok(Host::Domain(name)) => name.to_ascii_lowercase(),
            Ok(address) if below.is_empty() => return Ok(Self(address.to_string())),
            Ok(_) => return Err(wrong("puts \"*.\" before an IP address")),
            Err(_) => return Err(wrong("is no domain")),
        };
        if name.is_empty() || name.split('.').any(str::is_empty) {
            return Err(wrong("is no domain"));
        }
        if is_public_suffix(&name) {
            return Err(wrong(
                "is a public suffix, under which unrelated publishers have their domains",
            ));
        }
        Ok(Self(format!("{below}{name}")))
    }

    /// The pattern in its normal form: lower case, ASCII.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the rule covers this host, given in lower case.
    pub fn matches(&self, host: &str) -> bool {
        let is_below = |name: &str| {
            host.strip_suffix(name)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        };
        match self.0.strip_prefix("*.") {
            Some(name) => is_below(name),
            None => host == self.0 || is_below(&self.0),
        }
    }
}

/// The host of an address that contains nothing else; text that is not an address is returned unchanged;
/// `None` for an address with further parts.
fn host_of_address(text: &str) -> Option<String> {
    if !text.contains("://") {
        return Some(text.to_owned());
    }
    let url = Url::parse(text).ok()?;
    let only_host = matches!(url.path(), "" | "/") && url.query().is_none();
    only_host.then(|| url.host_str().unwrap_or_default().to_owned())
}

/// The action of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleAction {
    Block,
    Allow,
}

impl RuleAction {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Allow => "allow",
        }
    }
}

/// The rules in force, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DomainRules(Vec<(DomainPattern, bool)>);

impl DomainRules {
    /// The pattern that blocks a host: that of the newest rule that covers it, if that rule blocks.
    pub fn blocking_host(&self, host: &str) -> Option<&DomainPattern> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let (pattern, is_block) = self.0.iter().find(|(pattern, _)| pattern.matches(&host))?;
        is_block.then_some(pattern)
    }

    /// The pattern that blocks an address; none if the address has no host.
    pub fn blocking_url(&self, url: &str) -> Option<&DomainPattern> {
        self.blocking_host(Url::parse(url).ok()?.host_str()?)
    }

    /// The pattern that blocks a page: by the host of its address, by that of the final address after
    /// redirects, or, for a file, by the domain that published it.
    pub fn blocking_page(
        &self,
        url: &str,
        final_url: Option<&str>,
        domain: Option<&str>,
    ) -> Option<&DomainPattern> {
        if self.0.is_empty() {
            return None;
        }
        let addresses = [Some(url), final_url];
        let hosts: Vec<String> = addresses
            .into_iter()
            .flatten()
            .filter_map(|address| Some(Url::parse(address).ok()?.host_str()?.to_owned()))
            .collect();
        // The registrable domain of a host adds nothing to the host itself.
        let published = domain.filter(|domain| {
            let whole = DomainPattern(domain.to_lowercase());
            !hosts.iter().any(|host| whole.matches(host))
        });
        let mut all = hosts.iter().map(String::as_str).chain(published);
        all.find_map(|host| self.blocking_host(host))
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Reader<'_> {
    /// The domain rules that are in force.
    pub fn domain_rules(&self) -> Result<DomainRules> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT domain_pattern, rule = 'block' FROM domain_rules WHERE is_active = 1
                 ORDER BY created_at DESC, id DESC",
            )
            .db()?;
        let rows = statement
            .query_map([], |r| Ok((DomainPattern(r.get(0)?), r.get(1)?)))
            .db()?;
        Ok(DomainRules(rows.collect::<rusqlite::Result<_>>().db()?))
    }

    /// The action of the newest rule with exactly this pattern: `block`, `allow`, or none.
    pub(crate) fn rule_of_pattern(&self, pattern: &DomainPattern) -> Result<Option<String>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT rule FROM domain_rules WHERE is_active = 1 AND domain_pattern = ?1
                 ORDER BY created_at DESC, id DESC LIMIT 1",
            )
            .db()?;
        let mut rows = statement.query([pattern.as_str()]).db()?;
        rows.next().db()?.map(|row| row.get(0)).transpose().db()
    }
}

impl Writer<'_> {
    /// Puts a rule into force. Older rules with the same pattern are no longer in force but stay in the
    /// table.
    pub(crate) fn add_domain_rule(
        &self,
        pattern: &DomainPattern,
        rule: RuleAction,
        reason: &str,
        actor: &str,
    ) -> Result<usize> {
        let replaced = self.end_domain_rules(pattern)?;
        self.db
            .run("INSERT INTO domain_rules (id, domain_pattern, rule, reason, actor, is_active, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)", params![
                random_id("rule_", 12),
                pattern.as_str(),
                rule.as_str(),
                reason,
                actor,
                self.time_of_rule()?
            ])?;
        Ok(replaced + 1)
    }

    /// The current time, or one millisecond after the newest rule if that is later, so that of two rules
    /// one is always newer, in this graph and in those that it is merged with.
    fn time_of_rule(&self) -> Result<String> {
        let newest = self
            .db
            .one("SELECT max(created_at) FROM domain_rules", [], |r| {
                r.get::<_, Option<String>>(0)
            })?;
        let after = newest
            .and_then(|time| parse_ms(&time))
            .map(|ms| format_ms(ms + 1));
        Ok(after.unwrap_or_default().max(self.now.clone()))
    }

    /// Ends the rules with exactly this pattern; returns their number.
    pub(crate) fn end_domain_rules(&self, pattern: &DomainPattern) -> Result<usize> {
        self.db.run(
            "UPDATE domain_rules SET is_active = 0 WHERE is_active = 1 AND domain_pattern = ?1",
            [pattern.as_str()],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;

    /// Patterns that are read differently from the reference: the pattern, whether it is accepted here,
    /// and why.
    const PATTERNS_READ_OTHERWISE: &[(&str, bool, &str)] = &[
        (
            "*.co.uk",
            false,
            "a public suffix, as *.co.jp, which the reference refuses",
        ),
        ("com", false, "a public suffix, as *.com"),
        (
            "example.*",
            false,
            "under every suffix somebody else owns the name",
        ),
        (
            ".go.jp",
            false,
            "a public suffix: every office of the Japanese state",
        ),
        (
            "f*.com",
            false,
            "would be about names that nobody has looked at",
        ),
    ];

    fn ours(pattern: &str) -> Option<bool> {
        let listed = PATTERNS_READ_OTHERWISE.iter().find(|(p, ..)| *p == pattern);
        listed.map(|(_, ok, _)| *ok)
    }

    #[test]
    fn patterns_agree_with_the_reference() {
        for row in reference_cases("domain_pattern") {
            let pattern = row["pattern"].as_str().unwrap();
            let expected = ours(pattern).unwrap_or(row["ok"] == true);
            let read = DomainPattern::parse(pattern);
            assert_eq!(read.is_ok(), expected, "{pattern:?}: {read:?}");
            if let Err(error) = read {
                assert!(error.message().contains("domain_pattern"), "{error}");
                assert!(error.hint().is_some());
            }
        }
    }

    #[test]
    fn matches_agree_with_the_reference() {
        for row in reference_cases("domain_match") {
            let text = row["pattern"].as_str().unwrap();
            let (host, expected) = (row["domain"].as_str().unwrap(), row["match"] == true);
            match DomainPattern::parse(text) {
                Ok(pattern) => assert_eq!(pattern.matches(host), expected, "{row}"),
                Err(_) => assert_eq!(ours(text), Some(false), "{row}"),
            }
        }
    }

    #[test]
    fn patterns_have_one_spelling() {
        for (text, expected) in [
            ("Example.ORG.", Some("example.org")),
            ("https://Example.org/", Some("example.org")),
            ("*.sub.example.org", Some("*.sub.example.org")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("192.0.2.7", Some("192.0.2.7")),
            ("[2001:db8::1]", Some("[2001:db8::1]")),
            ("localhost", Some("localhost")),
            ("https://example.org/page", None),
            ("*.192.0.2.7", None),
            ("io", None),
            ("*.github.io", None),
            ("*.*.example.org", None),
            ("exa mple.org", None),
            ("a..org", None),
            ("*.", None),
            ("https://", None),
        ] {
            let read = DomainPattern::parse(text).ok();
            assert_eq!(
                read.as_ref().map(DomainPattern::as_str),
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_newest_rule_about_a_host_wins() {
        let rules = |newest_first: &[(&str, bool)]| {
            let read = |(p, block): &(&str, bool)| (DomainPattern::parse(p).unwrap(), *block);
            DomainRules(newest_first.iter().map(read).collect())
        };
        for (given, host, blocked) in [
            (&[][..], "example.org", false),
            (&[("example.org", true)], "example.org", true),
            (&[("example.org", true)], "WWW.Example.org.", true),
            (&[("*.example.org", true)], "example.org", false),
            (
                &[("good.example.org", false), ("example.org", true)],
                "good.example.org",
                false,
            ),
            (
                &[("good.example.org", false), ("example.org", true)],
                "bad.example.org",
                true,
            ),
            (
                &[("example.org", true), ("good.example.org", false)],
                "good.example.org",
                true,
            ),
        ] {
            assert_eq!(
                rules(given).blocking_host(host).is_some(),
                blocked,
                "{given:?} {host}"
            );
        }
        let rules = rules(&[("good.example.org", false), ("example.org", true)]);
        for (url, final_url, domain, blocked) in [
            (
                "https://good.example.org/a",
                None,
                Some("example.org"),
                false,
            ),
            (
                "https://other.net/a",
                Some("https://example.org/b"),
                None,
                true,
            ),
            ("file:///a.md", None, Some("example.org"), true),
            ("file:///a.md", None, Some("local"), false),
            ("https://other.net/a", None, Some("example.org"), true),
        ] {
            let found = rules.blocking_page(url, final_url, domain);
            assert_eq!(found.is_some(), blocked, "{url} {final_url:?} {domain:?}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_is_stable(text in "[*.a-z0-9ü:/\\[\\] ]{0,30}") {
            if let Ok(pattern) = DomainPattern::parse(&text) {
                prop_assert_eq!(DomainPattern::parse(pattern.as_str()).unwrap(), pattern);
            }
        }
    }
}
