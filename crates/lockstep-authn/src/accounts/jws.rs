//! JSON Web Signatures in compact form: `header.payload.signature`, each part in base64url. The choice of key and
//! algorithm is made here, the cryptography is the library's.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use lockstep_object::Value;
use serde_json::json;

use super::keys::{Curve, PublicKey, Secret, SigningKey};

/// Longest token that is parsed.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// Errors of verifying a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum NotSigned {
    /// The token does not have three well-formed parts.
    #[error("the token is malformed")]
    Malformed,
    /// The key or algorithm is not accepted.
    #[error("the token was signed with a key that is not known")]
    Stranger,
    /// The signature is wrong.
    #[error("the signature of the token is wrong")]
    Forged,
}

/// Signature algorithm of a key (RFC 7518).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    Rs256,
    Es256,
    Es384,
    Es512,
}

impl Algorithm {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
        }
    }

    pub(super) fn of_curve(curve: Curve) -> Self {
        match curve {
            Curve::P256 => Self::Es256,
            Curve::P384 => Self::Es384,
            Curve::P521 => Self::Es512,
        }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
            Self::Es256 => &ECDSA_P256_SHA256_FIXED,
            Self::Es384 => &ECDSA_P384_SHA384_FIXED,
            Self::Es512 => &ECDSA_P521_SHA512_FIXED,
        }
    }
}

/// Signs a payload; `None` if the key cannot, which depends on its size.
pub(crate) fn sign(key: &SigningKey, payload: &Value) -> Option<String> {
    let header = json!({ "alg": key.public.algorithm.name(), "kid": key.public.id });
    let encode = |value: &Value| BASE64.encode(value.to_string());
    let text = format!("{}.{}", encode(&header), encode(payload));
    let random = SystemRandom::new();
    let signature = match &key.secret {
        Secret::Rsa(pair) => {
            let mut signature = vec![0; pair.public_modulus_len()];
            pair.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature)
                .ok()?;
            signature
        }
        Secret::Ec(pair) => pair.sign(&random, text.as_bytes()).ok()?.as_ref().to_vec(),
    };
    Some(format!("{text}.{}", BASE64.encode(signature)))
}

/// The unverified payload of a token, which may only be used to choose the key.
pub(crate) fn peek(token: &str) -> Option<Value> {
    let [_, payload, _] = parts(token)?;
    json_of(payload)
}

/// The parts of an unverified token.
pub(crate) struct Apart<'t> {
    /// The header, which names key and algorithm.
    pub(crate) header: Value,
    /// The signed text.
    pub(crate) signed: &'t str,
    pub(crate) signature: Vec<u8>,
    payload: &'t str,
}

/// Splits a token into its parts.
pub(crate) fn take_apart(token: &str) -> Result<Apart<'_>, NotSigned> {
    let [header, payload, signature] = parts(token).ok_or(NotSigned::Malformed)?;
    let header = json_of(header).ok_or(NotSigned::Malformed)?;
    let signature = BASE64.decode(signature).map_err(|_| NotSigned::Malformed)?;
    // RFC 7515 §4.1.11: a token with critical extensions that are not understood must be rejected.
    if header.get("crit").is_some() {
        return Err(NotSigned::Malformed);
    }
    Ok(Apart {
        header,
        signed: token.rsplit_once('.').map_or("", |(signed, _)| signed),
        signature,
        payload,
    })
}

impl Apart<'_> {
    /// The payload, to be trusted only after the signature was verified.
    pub(crate) fn payload(&self) -> Result<Value, NotSigned> {
        json_of(self.payload).ok_or(NotSigned::Malformed)
    }
}

/// Verifies a token with one of the keys and returns its payload.
pub(crate) fn verify(keys: &[PublicKey], token: &str) -> Result<Value, NotSigned> {
    let apart = take_apart(token)?;
    let header = &apart.header;
    let id = header["kid"].as_str().unwrap_or_default();
    let mut told = NotSigned::Stranger;
    for key in keys {
        let is_meant = id.is_empty() || key.id == id;
        // The key determines the algorithm: trusting the header would allow algorithm confusion.
        if !is_meant || header["alg"] != key.algorithm.name() {
            continue;
        }
        let key = UnparsedPublicKey::new(key.algorithm.verification(), &key.der);
        let (signed, signature) = (apart.signed.as_bytes(), &apart.signature);
        if key.verify(signed, signature).is_ok() {
            return apart.payload();
        }
        told = NotSigned::Forged;
    }
    Err(told)
}

fn parts(token: &str) -> Option<[&str; 3]> {
    if token.len() > TOKEN_BYTES_MAX {
        return None;
    }
    let parts: Vec<&str> = token.split('.').collect();
    parts.try_into().ok()
}

fn json_of(part: &str) -> Option<Value> {
    let bytes = BASE64.decode(part).ok()?;
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    value.is_object().then_some(value)
}

#[cfg(test)]
mod tests {
    use rcgen::{
        KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512,
        PKCS_RSA_SHA256, RsaKeySize,
    };

    use super::*;

    fn pairs() -> [(&'static str, KeyPair); 4] {
        let ec = |algorithm| KeyPair::generate_for(algorithm).unwrap();
        let rsa = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048);
        [
            ("RS256", rsa.unwrap()),
            ("ES256", ec(&PKCS_ECDSA_P256_SHA256)),
            ("ES384", ec(&PKCS_ECDSA_P384_SHA384)),
            ("ES512", ec(&PKCS_ECDSA_P521_SHA512)),
        ]
    }

    /// api-machinery.md §13/tokens: RS256, ES256, ES384, ES512; keys from private keys, public keys
    /// and certificates.
    #[test]
    fn what_a_key_signs_its_public_half_and_its_certificate_know() {
        let payload = json!({ "iss": "i", "sub": "s" });
        for (algorithm, pair) in pairs() {
            let signing = SigningKey::read(pair.serialize_pem().as_bytes()).unwrap();
            assert_eq!(signing.public.algorithm.name(), algorithm);
            let token = sign(&signing, &payload).unwrap();
            let certificate = rcgen::CertificateParams::new([]).unwrap();
            let certificate = certificate.self_signed(&pair).unwrap().pem();
            for pem in [pair.serialize_pem(), pair.public_key_pem(), certificate] {
                let keys = PublicKey::read_all(pem.as_bytes());
                assert_eq!(keys, std::slice::from_ref(&signing.public));
                assert_eq!(verify(&keys, &token), Ok(payload.clone()), "{algorithm}");
            }
        }
    }

    #[test]
    fn a_set_of_keys_has_what_others_need_to_check() {
        let fields = |pair: &KeyPair| {
            let key = PublicKey::read_all(pair.public_key_pem().as_bytes()).remove(0);
            let key = key.as_jwk();
            let names: Vec<String> = key.as_object().unwrap().keys().cloned().collect();
            (names.join(" "), key["kty"].clone(), key["crv"].clone())
        };
        let [(_, rsa), (_, p256), _, (_, p521)] = pairs();
        let none = Value::Null;
        assert_eq!(
            fields(&rsa),
            ("alg e kid kty n use".into(), json!("RSA"), none)
        );
        let names = "alg crv kid kty use x y";
        assert_eq!(fields(&p256), (names.into(), json!("EC"), json!("P-256")));
        assert_eq!(fields(&p521), (names.into(), json!("EC"), json!("P-521")));
    }

    #[test]
    fn what_was_not_signed_so_is_not_believed() {
        let [(_, rsa), (_, ec), ..] = pairs();
        let key = |pair: &KeyPair| SigningKey::read(pair.serialize_pem().as_bytes()).unwrap();
        let (rsa, ec) = (key(&rsa), key(&ec));
        let token = sign(&ec, &json!({ "sub": "alice" })).unwrap();
        let [header, payload, signature] = parts(&token).unwrap();
        let encode = |value: &Value| BASE64.encode(value.to_string());
        let other = encode(&json!({ "sub": "root" }));
        let unsigned = encode(&json!({ "alg": "none" }));
        let as_mac = encode(&json!({ "alg": "HS256", "kid": ec.public.id }));
        let critical = encode(&json!({ "alg": "ES256", "crit": ["x"] }));
        let own = std::slice::from_ref(&ec.public);
        for (keys, text, expected) in [
            (
                own,
                format!("{header}.{other}.{signature}"),
                NotSigned::Forged,
            ),
            (own, format!("{header}.{payload}.AAAA"), NotSigned::Forged),
            (own, format!("{header}.{payload}."), NotSigned::Forged),
            (own, format!("{unsigned}.{payload}."), NotSigned::Stranger),
            (
                own,
                format!("{as_mac}.{payload}.{signature}"),
                NotSigned::Stranger,
            ),
            (
                own,
                format!("{critical}.{payload}.{signature}"),
                NotSigned::Malformed,
            ),
            (own, format!("{header}.{payload}"), NotSigned::Malformed),
            (
                own,
                format!("{header}.{payload}.{signature}.x"),
                NotSigned::Malformed,
            ),
            (own, "a.b.c".to_owned(), NotSigned::Malformed),
            (own, "x".repeat(TOKEN_BYTES_MAX + 1), NotSigned::Malformed),
            (
                std::slice::from_ref(&rsa.public),
                token.clone(),
                NotSigned::Stranger,
            ),
            (&[], token.clone(), NotSigned::Stranger),
        ] {
            assert_eq!(verify(keys, &text), Err(expected), "{text}");
        }
    }
}
