//! Rewriting of client bytes.

use super::super::frames::PREFACE;
use super::*;

/// `http://127.0.0.1:2379` in Huffman's code.
const HUFFMAN_URL: [u8; 15] = [
    0x9d, 0x29, 0xae, 0xe3, 0x0c, 0x04, 0x4e, 0xae, 0x05, 0xc0, 0xb8, 0x6e, 0x09, 0x97, 0x5f,
];
/// `httpx--127.0.0.1:2379` in Huffman's code.
const HUFFMAN_REWRITTEN: [u8; 15] = [
    0x9d, 0x29, 0xaf, 0xca, 0xcb, 0x04, 0x4e, 0xae, 0x05, 0xc0, 0xb8, 0x6e, 0x09, 0x97, 0x5f,
];

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
    frame.extend_from_slice(payload);
    frame
}

/// A header block as clients encode it: method and scheme indexed, the authority, an unknown header, and the
/// authority once more as an index into the dynamic table.
fn block(authority: &[u8], is_huffman: bool) -> Vec<u8> {
    let length = u8::try_from(authority.len()).unwrap();
    let mut block = vec![0x3f, 0x01, 0x83, 0x86];
    block.extend([0x41, length | u8::from(is_huffman) << 7]);
    block.extend_from_slice(authority);
    block.extend_from_slice(b"\x00\x01x\x07http://\xbe");
    block
}

fn connection(authority: &[u8], is_huffman: bool) -> Vec<u8> {
    let block = block(authority, is_huffman);
    let mut padded = vec![2, 0, 0, 0, 0, 16];
    padded.extend_from_slice(&block);
    padded.extend([0, 0]);
    // Bytes inside a `DATA` frame are not a header block.
    [
        PREFACE.to_vec(),
        frame(4, 0, &[]),
        frame(HEADERS, 4, &block),
        frame(0, 1, &block_of_data()),
        frame(HEADERS, 4 | PADDED | PRIORITY, &padded),
    ]
    .concat()
}

fn block_of_data() -> Vec<u8> {
    block(b"http://data", false)
}

fn rewritten(bytes: &[u8]) -> Vec<u8> {
    let mut rewritten = bytes.to_vec();
    pass(&mut Frames::of_client(), &mut rewritten);
    rewritten
}

#[test]
fn an_authority_that_is_a_url_becomes_one_that_is_none() {
    // etcd-api.md §12: etcdctl 3.4, every command.
    for (given, expected, is_huffman) in [
        (&b"http://a:1"[..], &b"httpx--a:1"[..], false),
        (b"https://a:1", b"httpsx--a:1", false),
        (&HUFFMAN_URL, &HUFFMAN_REWRITTEN, true),
        (
            &[0x9d, 0x29, 0xad, 0x17, 0x18, 0x63],
            &[0x9d, 0x29, 0xad, 0x1e, 0x56, 0x5b],
            true,
        ),
    ] {
        let given = connection(given, is_huffman);
        assert_eq!(rewritten(&given), connection(expected, is_huffman));
    }
}

#[test]
fn everything_else_passes_as_it_is() {
    for authority in [&b"127.0.0.1:2379"[..], b"http:/", b"", b"xhttp://"] {
        let given = connection(authority, false);
        assert_eq!(rewritten(&given), given);
    }
    let other = [b"GET / HTTP/1.1\r\n", &connection(b"http://a", false)[..]].concat();
    assert_eq!(rewritten(&other), other);
}

#[test]
fn a_connection_is_followed_wherever_its_bytes_are_cut() {
    // A token split over two reads is left unchanged, and later ones are still found.
    let given = connection(b"http://a:1", false);
    let expected = connection(b"httpx--a:1", false);
    let last = expected.len() - 8 - block(b"http://a:1", false).len();
    for cut in 0..last {
        let (mut first, mut second) = (given[..cut].to_vec(), given[cut..].to_vec());
        let mut frames = Frames::of_client();
        pass(&mut frames, &mut first);
        pass(&mut frames, &mut second);
        let passed = [first, second].concat();
        assert_eq!(passed[last..], expected[last..], "cut at {cut}");
    }
}

#[test]
fn any_bytes_pass_without_harm() {
    let mut number = 1_u32;
    for _ in 0..2000 {
        let mut bytes = PREFACE.to_vec();
        bytes.extend([0, 0, 60, HEADERS, 0, 0, 0, 0, 1]);
        for _ in 0..60 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.push(number.to_be_bytes()[0]);
        }
        assert_eq!(rewritten(&bytes).len(), bytes.len());
    }
}
