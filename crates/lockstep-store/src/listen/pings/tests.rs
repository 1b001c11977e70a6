//! etcd-api.md §1/keepalive.

use proptest::prelude::*;

use super::super::frames::PREFACE;
use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn frame(kind: u8, flags: u8, stream: u32, payload: u8) -> Vec<u8> {
    let mut frame = vec![0, 0, payload, kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    // A payload that looks like a ping's header is not a frame.
    frame.extend(
        [0, 0, 8, PING, 0, 0, 0, 0, 0]
            .iter()
            .cycle()
            .take(payload.into()),
    );
    frame
}

fn ping() -> Vec<u8> {
    frame(PING, 0, 0, 8)
}

/// Events on a connection, one second apart or immediately after each other.
#[derive(Clone, Debug)]
enum Step {
    Ping,
    Answer,
    Opens(u32),
    Resets(u32),
    Data(u32),
    Last(u32),
    Passes(u64),
}

/// The step after which the connection is closed.
fn ended_at(steps: &[Step]) -> Option<usize> {
    let mut pings = Pings::new(5 * SECOND);
    let mut now = Instant::now();
    assert!(!pings.received(PREFACE, now));
    steps.iter().position(|step| {
        let bytes = match step {
            Step::Ping => ping(),
            Step::Answer => frame(PING, ACK, 0, 8),
            Step::Opens(stream) => frame(HEADERS, 0, *stream, 20),
            Step::Resets(stream) => frame(RST_STREAM, 0, *stream, 4),
            Step::Data(stream) => {
                pings.sent(&frame(DATA, 0, *stream, 30));
                return false;
            }
            Step::Last(stream) => {
                pings.sent(&frame(HEADERS, END_STREAM, *stream, 3));
                return false;
            }
            Step::Passes(seconds) => {
                now += Duration::from_secs(*seconds);
                return false;
            }
        };
        pings.received(&bytes, now)
    })
}

#[test]
fn the_third_ping_that_comes_too_early_is_one_too_many() {
    use Step::{Answer, Data, Last, Opens, Passes, Ping, Resets};
    let calm = [
        Opens(1),
        Ping,
        Passes(5),
        Ping,
        Passes(5),
        Ping,
        Passes(5),
        Ping,
    ];
    assert_eq!(ended_at(&calm), None, "every five seconds during a call");
    let hasty = [
        Opens(1),
        Ping,
        Passes(4),
        Ping,
        Passes(4),
        Ping,
        Passes(4),
        Ping,
    ];
    assert_eq!(
        ended_at(&hasty),
        Some(7),
        "every four seconds during a call"
    );
    let idle = [Ping, Passes(60), Ping, Passes(60), Ping, Passes(60), Ping];
    assert_eq!(ended_at(&idle), Some(6), "every minute without a call");
    let rare = [
        Ping,
        Passes(7200),
        Ping,
        Passes(7200),
        Ping,
        Passes(7200),
        Ping,
    ];
    assert_eq!(ended_at(&rare), None, "every two hours without a call");
    let served = [Opens(1), Ping, Ping, Ping, Data(1), Ping, Ping, Ping, Ping];
    assert_eq!(ended_at(&served), Some(8), "sent data resets the strikes");
    let over = [Opens(1), Ping, Ping, Ping, Last(1), Ping, Ping, Ping];
    assert_eq!(ended_at(&over), None, "so does the end of a call");
    let reset = [
        Opens(1),
        Resets(1),
        Ping,
        Passes(60),
        Ping,
        Passes(60),
        Ping,
        Passes(60),
        Ping,
    ];
    assert_eq!(
        ended_at(&reset),
        Some(8),
        "a call that was given up is none"
    );
    let answers = [Answer, Answer, Answer, Answer, Answer];
    assert_eq!(ended_at(&answers), None, "answers are no pings");
}

#[test]
fn the_goodbye_names_the_newest_stream_and_comes_between_frames_only() {
    let mut pings = Pings::new(MINUTE);
    pings.received(
        &[PREFACE, &frame(HEADERS, 0, 5, 1)].concat(),
        Instant::now(),
    );
    let go_away = [
        &[0, 0, 22, 7, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 11][..],
        b"too_many_pings",
    ];
    assert_eq!(pings.go_away(), Some(go_away.concat()));
    let data = frame(DATA, 0, 5, 30);
    pings.sent(&data[..4]);
    assert_eq!(pings.go_away(), None);
    pings.sent(&data[4..20]);
    assert_eq!(pings.go_away(), None);
    pings.sent(&data[20..]);
    assert_eq!(pings.go_away(), Some(go_away.concat()));
}

#[test]
fn another_protocol_has_no_pings() {
    let mut pings = Pings::new(MINUTE);
    let text = [b"POST / HTTP/1.1\r\n\r\n".to_vec(), ping().repeat(9)].concat();
    assert!(!pings.received(&text, Instant::now()));
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    (0_u8..10, any::<u8>(), 0_u32..6, any::<u8>())
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, payload))
}

proptest! {
    #[test]
    fn it_does_not_matter_how_bytes_are_cut(
        frames in prop::collection::vec(any_frame(), 0..20),
        cuts in prop::collection::vec(0_usize..4000, 0..30),
        is_text in prop::bool::weighted(0.1),
    ) {
        let begin = if is_text { &b"GET / HTTP/1.1"[..] } else { PREFACE };
        let bytes = [begin.to_vec(), frames.concat()].concat();
        let now = Instant::now();
        let mut whole = Pings::new(MINUTE);
        let ends = whole.received(&bytes, now);
        whole.sent(&frames.concat());
        let mut pieces = Pings::new(MINUTE);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < bytes.len()).collect();
        cuts.sort_unstable();
        let mut at = 0;
        let mut ended = false;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            ended |= pieces.received(&bytes[at..cut], now);
            at = cut;
        }
        frames.concat().chunks(7).for_each(|piece| pieces.sent(piece));
        prop_assert_eq!(ended, ends);
        prop_assert_eq!(&pieces.open, &whole.open);
        prop_assert_eq!(pieces.go_away(), whole.go_away());
        prop_assert_eq!((pieces.strikes, pieces.newest), (whole.strikes, whole.newest));
    }
}
