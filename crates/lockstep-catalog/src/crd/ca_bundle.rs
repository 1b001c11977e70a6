//! Validation of CA bundles, with the error texts of Go.

use rustls_pki_types::pem::{PemObject as _, SectionKind};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Validates a CA bundle. One readable certificate is enough, as in Go's `CertPool`.
pub fn check_bundle(bundle: &[u8]) -> Result<(), String> {
    let sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(bundle);
    let (mut is_pem, mut has_certificate) = (false, false);
    for section in sections {
        is_pem = true;
        let Ok((kind, der)) = section else {
            continue;
        };
        if kind == SectionKind::Certificate {
            has_certificate = true;
            if X509Certificate::from_der(&der).is_ok_and(|(rest, _)| rest.is_empty()) {
                return Ok(());
            }
        }
    }
    let why = match (is_pem, has_certificate) {
        (false, _) => "unable to parse bytes as PEM block",
        (true, true) => "failed to parse certificate: x509: malformed certificate",
        (true, false) => "no valid certificate authority data seen",
    };
    Err(format!("unable to load root certificates: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(label: &str, text: &str) -> String {
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    }

    /// api-machinery.md §11/versions: caBundle.
    #[test]
    fn one_certificate_is_enough_and_none_is_an_error_in_the_words_of_go() {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let good = own.cert.pem();
        let wrong = |why: &str| Err(format!("unable to load root certificates: {why}"));
        let malformed = "failed to parse certificate: x509: malformed certificate";
        for (bundle, expected) in [
            (good.clone(), Ok(())),
            (pem("CERTIFICATE", "AAAA") + &good, Ok(())),
            ("\n".to_owned(), wrong("unable to parse bytes as PEM block")),
            (
                "abc".to_owned(),
                wrong("unable to parse bytes as PEM block"),
            ),
            (pem("CERTIFICATE", "AAAA"), wrong(malformed)),
            (
                pem("RSA PRIVATE KEY", "AAAA"),
                wrong("no valid certificate authority data seen"),
            ),
        ] {
            assert_eq!(check_bundle(bundle.as_bytes()), expected, "{bundle}");
        }
    }
}
