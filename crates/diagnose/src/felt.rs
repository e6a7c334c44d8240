//! What people feel of one run's calls, pages, videos, conferences and games, as sentences, and which targets of a
//! household it meets: those of `simulate` (python/ackclock/simulation/apps.py and household.py), which also have
//! intervals over seeds. Tests of the lab page compare both.

use crate::number_text::{milliseconds, rate, significant, size};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The applications of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Felt {
    pub rows: Vec<FeltRow>,
    /// Of a run whose flows are those of the household.
    pub household: Option<Household>,
}

/// What people feel of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeltRow {
    pub flow: String,
    /// The application.
    pub kind: String,
    pub text: String,
}

/// The targets of a household, and what they say of its link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Household {
    pub targets: Vec<TargetRow>,
    pub verdict: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TargetRow {
    /// The application, with its article.
    pub app: &'static str,
    pub target: &'static str,
    pub shown: String,
    pub met: bool,
}

/// What is read of a summary (`docs/inside/plan.md`). Other fields are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct AppFigures {
    flows: Vec<AppFlow>,
}

#[derive(Debug, Clone, Deserialize)]
struct AppFlow {
    flow: String,
    app: Option<App>,
}

#[derive(Debug, Clone, Deserialize)]
struct App {
    kind: String,
    score: Value,
}

impl App {
    fn figure(&self, path: &str) -> Option<f64> {
        self.score.pointer(path)?.as_f64()
    }

    fn seconds(&self, path: &str) -> Option<String> {
        self.figure(path).map(seconds)
    }

    fn sentence(&self) -> String {
        let found = match self.kind.as_str() {
            "call" => self.call(),
            "page" => self.page(),
            "video" => self.video(),
            "conference" => self.conference(),
            "game" => self.game(),
            _ => None,
        };
        found.unwrap_or_else(|| match self.kind.as_str() {
            "page" => {
                let bytes = |path: &str| size(self.figure(path).unwrap_or(0.0));
                format!("not complete: {} of {}", bytes("/arrived_bytes"), bytes("/bytes"))
            }
            "video" => "does not start".into(),
            "conference" => "no frame was rendered".into(),
            _ => "no packet was sent".into(),
        })
    }

    fn call(&self) -> Option<String> {
        let [mos, worst] = ["/mos/mean", "/mos/p10"].map(|path| self.figure(path).map(|mos| format!("{mos:.1}")));
        let (mos, worst) = (mos?, worst.unwrap_or_default());
        let mut parts = vec![if worst == mos { format!("MOS {mos}") } else { format!("MOS {mos}, {worst} in its worst tenth") }];
        if let Some(delay) = self.figure("/mouth_to_ear_ms") {
            parts.push(format!("{} from mouth to ear", milliseconds(delay)));
        }
        parts.push(match self.figure("/unplayed_share") {
            Some(lost) if lost > 0.0 => format!("{} lost or too late", decimal_percent(lost)),
            _ => "nothing lost".into(),
        });
        Some(parts.join(", "))
    }

    fn page(&self) -> Option<String> {
        Some(format!("loaded in {}, ByteIndex {}", self.seconds("/load_s")?, self.seconds("/byte_index_s")?))
    }

    fn game(&self) -> Option<String> {
        let late = decimal_percent(self.figure("/late_share")?);
        let text = format!("{late} of the answers later than {} or lost", milliseconds(self.figure("/deadline_ms")));
        Some(match self.figure("/rtt_p95_ms") {
            Some(rtt) => format!("{text}, p95 RTT {}", milliseconds(rtt)),
            None => text,
        })
    }

    fn conference(&self) -> Option<String> {
        let (bitrate, delay) = (rate(self.figure("/bitrate_bps")?), milliseconds(self.figure("/delay_p95_ms")?));
        let freezes = self.pauses("freeze", "/freezes", "/freeze_s");
        let text = format!("{bitrate}, {delay} to the picture (p95), {freezes}");
        Some(match self.figure("/late_share") {
            Some(late) if late > 0.0 => format!("{text}, {} of the frames late", decimal_percent(late)),
            _ => text,
        })
    }

    fn video(&self) -> Option<String> {
        let start = self.seconds("/start_s")?;
        let stalled = self.pauses("stall", "/stalls", "/stall_s");
        Some(match (self.figure("/bitrate_bps"), self.figure("/lines")) {
            (Some(bps), Some(lines)) => {
                format!("starts after {start}, {stalled}, mostly {lines:.0}p ({} on average)", rate(bps))
            }
            _ => format!("starts after {start}, {stalled}, not played in the measured time"),
        })
    }

    /// How often and for how long something stops.
    fn pauses(&self, name: &str, count: &str, seconds: &str) -> String {
        match self.figure(count) {
            Some(number) if number > 0.0 => {
                let plural = if number == 1.0 { "" } else { "s" };
                format!("{number:.0} {name}{plural} of {} in all", self.seconds(seconds).unwrap_or_default())
            }
            _ => format!("no {name}"),
        }
    }
}

fn seconds(value: f64) -> String {
    format!("{} s", significant(value, 2))
}

/// A share in percent with one decimal; below 0.05 % but above zero, `<0.1 %`.
fn decimal_percent(share: f64) -> String {
    if share > 1e-9 && share < 0.0005 { "<0.1 %".into() } else { format!("{:.1} %", 100.0 * share) }
}

/// Of each flow with an application, in the order of the summary.
pub fn felt(run: &AppFigures) -> Felt {
    let apps: Vec<(&str, &App)> = run.flows.iter().filter_map(|flow| Some((flow.flow.as_str(), flow.app.as_ref()?))).collect();
    let row = |&(flow, app): &(&str, &App)| FeltRow { flow: flow.into(), kind: app.kind.clone(), text: app.sentence() };
    Felt { rows: apps.iter().map(row).collect(), household: household(run, &apps) }
}

/// The flows of household.toml without the page's loads.
const SINGLE_FLOWS: [&str; 4] = ["call", "game", "download", "upload"];
/// Loads of its page; the first one is before the download and the upload.
const LOADS: usize = 6;
const MIN_MOS: f64 = 4.0;
const MAX_TIMES_ALONE: f64 = 1.5;
const MAX_LATE: f64 = 0.01;

fn household(run: &AppFigures, apps: &[(&str, &App)]) -> Option<Household> {
    let app = |name: &str| apps.iter().find(|(flow, _)| *flow == name).map(|(_, app)| *app);
    let has = |name: &&str| run.flows.iter().any(|flow| flow.flow == **name);
    let pages: Vec<&App> = (1..=LOADS).filter_map(|number| app(&format!("page-{number}"))).collect();
    if apps.len() != pages.len() + 2 || pages.len() != LOADS || !SINGLE_FLOWS.iter().all(has) {
        return None;
    }
    let targets = vec![call_target(app("call")?), page_target(&pages), game_target(app("game")?)];
    let verdict = verdict(&targets);
    Some(Household { targets, verdict })
}

fn call_target(call: &App) -> TargetRow {
    let mos = call.figure("/mos/mean");
    let shown = mos.map_or_else(|| NEVER.into(), |mos| format!("MOS {}", mos_text(mos)));
    TargetRow { app: "a call", target: "MOS at least 4.0", shown, met: mos.is_some_and(|mos| mos >= MIN_MOS) }
}

/// Its median load time beside the download and the upload, an incomplete load as longer than all.
fn page_target(pages: &[&App]) -> TargetRow {
    let load = |page: &&App| page.figure("/load_s");
    let alone = pages.first().and_then(load);
    let mut later: Vec<f64> = pages[1..].iter().map(|page| load(page).unwrap_or(f64::INFINITY)).collect();
    later.sort_by(f64::total_cmp);
    let beside = later.get(later.len() / 2).copied().filter(|load| load.is_finite());
    let times = beside.zip(alone).map(|(beside, alone)| beside / alone);
    let shown = match (beside, times) {
        (Some(load), Some(times)) => format!("{}, {} times its time alone", seconds(load), significant(times, 2)),
        (Some(load), None) => seconds(load),
        (None, _) => NEVER.into(),
    };
    let met = times.is_some_and(|times| times <= MAX_TIMES_ALONE);
    TargetRow { app: "a page", target: "at most 1.5 times the time alone", shown, met }
}

fn game_target(game: &App) -> TargetRow {
    let late = game.figure("/late_share");
    let shown = late.map_or_else(|| NEVER.into(), |late| format!("{} late", late_text(late)));
    let met = late.is_some_and(|late| late <= MAX_LATE);
    TargetRow { app: "a game", target: "at most 1 % of the round trips above 100 ms", shown, met }
}

const NEVER: &str = "not complete";

/// With two decimals where one would say that a missed target is met.
fn mos_text(mos: f64) -> String {
    if (3.95..MIN_MOS).contains(&mos) { format!("{:.2}", (100.0 * mos).floor() / 100.0) } else { format!("{mos:.1}") }
}

/// With two decimals where one would say that a missed target is met.
fn late_text(share: f64) -> String {
    if share == 0.0 {
        "0 %".into()
    } else if share > MAX_LATE && share < 0.0105 {
        format!("{:.2} %", (1e4 * share).ceil() / 100.0)
    } else if (0.1..0.995).contains(&share) || share == 1.0 {
        format!("{:.0} %", 100.0 * share)
    } else {
        decimal_percent(share)
    }
}

fn verdict(targets: &[TargetRow]) -> String {
    let good: Vec<String> = targets.iter().filter(|target| target.met).map(|target| target.app.into()).collect();
    let missed = targets.iter().filter(|target| !target.met);
    let bad: Vec<String> = missed.map(|target| format!("{} ({})", target.app, target.shown)).collect();
    if good.is_empty() {
        return format!("Beside a download and an upload the link holds none of these: {}.", joined(&bad));
    }
    let but = if bad.is_empty() { String::new() } else { format!(", but not {}", bad.join(" or ")) };
    format!("Beside a download and an upload the link holds {}{but}.", joined(&good))
}

/// `a`, `a and b`, `a, b and c`.
fn joined(parts: &[String]) -> String {
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, some)) => format!("{} and {last}", some.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sentence(kind: &str, score: Value) -> String {
        App { kind: kind.into(), score }.sentence()
    }

    /// A household whose page takes 1 s alone and these times beside the transfers.
    fn run(mos: f64, loads: [Option<f64>; 5], late: f64) -> AppFigures {
        let call = json!({"kind": "call", "score": {"mos": {"mean": mos, "p10": mos}}});
        let game = json!({"kind": "game", "score": {"late_share": late, "deadline_ms": 100.0}});
        let mut flows = vec![json!({"flow": "call", "app": call}), json!({"flow": "game", "app": game})];
        for (number, load) in [Some(1.0)].into_iter().chain(loads).enumerate() {
            let score = json!({"load_s": load, "byte_index_s": load, "bytes": 204_000, "arrived_bytes": 17_000});
            flows.push(json!({"flow": format!("page-{}", number + 1), "app": {"kind": "page", "score": score}}));
        }
        flows.extend([json!({"flow": "download"}), json!({"flow": "upload"})]);
        serde_json::from_value(json!({"flows": flows})).expect("figures")
    }

    #[test]
    fn sentence_has_the_figures_of_its_application() {
        let call = |p10: f64, lost: f64| {
            let score = json!({"mos": {"mean": 4.31, "p10": p10}, "mouth_to_ear_ms": 61.2, "unplayed_share": lost});
            sentence("call", score)
        };
        assert_eq!(call(4.29, 0.0), "MOS 4.3, 61 ms from mouth to ear, nothing lost");
        assert_eq!(call(3.1, 0.0001), "MOS 4.3, 3.1 in its worst tenth, 61 ms from mouth to ear, <0.1 % lost or too late");
        let video = |stalls: u32, lines: Option<u32>| {
            let bps = lines.map(|_| 3_000_000.0);
            let score = json!({"start_s": 0.54, "stalls": stalls, "stall_s": 1.5, "bitrate_bps": bps, "lines": lines});
            sentence("video", score)
        };
        assert_eq!(video(0, Some(720)), "starts after 0.54 s, no stall, mostly 720p (3.00 Mb/s on average)");
        assert_eq!(video(2, None), "starts after 0.54 s, 2 stalls of 1.5 s in all, not played in the measured time");
        let conference = json!({"bitrate_bps": 2.5e6, "delay_p95_ms": 80.0, "freezes": 1, "freeze_s": 0.4, "late_share": 0.02});
        assert_eq!(
            sentence("conference", conference),
            "2.50 Mb/s, 80 ms to the picture (p95), 1 freeze of 0.40 s in all, 2.0 % of the frames late"
        );
        let game = json!({"late_share": 0.5, "deadline_ms": 100.0, "rtt_p95_ms": 130.0});
        assert_eq!(sentence("game", game), "50.0 % of the answers later than 100 ms or lost, p95 RTT 130 ms");
    }

    #[test]
    fn application_without_figures_is_named_with_what_it_lacks() {
        let page = json!({"load_s": null, "byte_index_s": null, "bytes": 204_000, "arrived_bytes": 17_000});
        assert_eq!(sentence("page", page), "not complete: 17 KB of 204 KB");
        assert_eq!(sentence("video", json!({"start_s": null})), "does not start");
        assert_eq!(sentence("call", json!({"mos": {"mean": null, "p10": null}})), "no packet was sent");
        assert_eq!(sentence("conference", json!({"bitrate_bps": null})), "no frame was rendered");
    }

    #[test]
    fn household_meets_its_targets_at_their_bounds_and_misses_them_beyond() {
        let met = |figures: &AppFigures| {
            felt(figures).household.expect("a household").targets.iter().map(|t| t.met).collect::<Vec<_>>()
        };
        assert_eq!(met(&run(4.0, [Some(1.5); 5], 0.01)), [true; 3]);
        let missed = run(3.999, [Some(1.51); 5], 0.0101);
        assert_eq!(met(&missed), [false; 3]);
        let verdict = felt(&missed).household.expect("a household").verdict;
        let figures = "a call (MOS 3.99), a page (1.5 s, 1.5 times its time alone) and a game (1.01 % late)";
        assert_eq!(verdict, format!("Beside a download and an upload the link holds none of these: {figures}."));
        // Two of five loads are not complete: the median is that of the third.
        let loads = [None, None, Some(1.2), Some(1.1), Some(1.0)];
        assert_eq!(
            felt(&run(4.0, loads, 0.0)).household.expect("a household").targets[1].shown,
            "1.2 s, 1.2 times its time alone"
        );
        let loads = [None, None, None, Some(1.1), Some(1.0)];
        assert_eq!(felt(&run(4.0, loads, 0.0)).household.expect("a household").targets[1].shown, "not complete");
    }

    #[test]
    fn other_flows_are_no_household() {
        let mut figures = run(4.0, [Some(1.0); 5], 0.0);
        figures.flows.remove(2);
        assert_eq!(felt(&figures).household, None);
        let only = AppFigures { flows: vec![AppFlow { flow: "flow1".into(), app: None }] };
        assert_eq!(felt(&only), Felt { rows: Vec::new(), household: None });
    }
}
