//! Keys that sign and verify tokens, from PEM files: private keys, public keys and certificates, of RSA and of the three
//! curves that Kubernetes accepts.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use lockstep_object::Value;
use serde_json::json;
use sha2::{Digest, Sha256};
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::public_key::PublicKey as Parsed;
use x509_parser::x509::SubjectPublicKeyInfo;

use super::jws::Algorithm;

/// Smallest RSA key that is accepted, in bits.
const RSA_BITS_MIN: usize = 2048;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
}

impl Curve {
    const ALL: [Self; 3] = [Self::P256, Self::P384, Self::P521];

    fn signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Self::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
            Self::P384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
            Self::P521 => &ECDSA_P521_SHA512_FIXED_SIGNING,
        }
    }

    /// Length of a coordinate in bytes, and the name in a JWK.
    fn form(self) -> (usize, &'static str) {
        match self {
            Self::P256 => (32, "P-256"),
            Self::P384 => (48, "P-384"),
            Self::P521 => (66, "P-521"),
        }
    }
}

/// A key that verifies tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PublicKey {
    /// Key id in the header of tokens, which selects the key.
    pub(crate) id: String,
    pub(crate) algorithm: Algorithm,
    /// The `SubjectPublicKeyInfo` in DER.
    pub(super) der: Vec<u8>,
}

/// A key that signs tokens.
pub(crate) struct SigningKey {
    pub(super) secret: Secret,
    pub(crate) public: PublicKey,
}

pub(super) enum Secret {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
}

impl SigningKey {
    /// The first private key of a PEM file.
    pub(crate) fn read(pem: &[u8]) -> Option<Self> {
        blocks(pem).find_map(|block| Self::of_block(&block))
    }

    fn of_block(block: &Pem) -> Option<Self> {
        let der = &block.contents;
        match block.label.as_str() {
            "RSA PRIVATE KEY" => Self::of_rsa(RsaKeyPair::from_der(der).ok()?),
            "EC PRIVATE KEY" => Self::of_ec(der),
            "PRIVATE KEY" => match RsaKeyPair::from_pkcs8(der) {
                Ok(pair) => Self::of_rsa(pair),
                Err(_) => Self::of_ec(der),
            },
            _ => None,
        }
    }

    fn of_rsa(pair: RsaKeyPair) -> Option<Self> {
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
        let public = PublicKey::of_der(der.as_ref())?;
        Some(Self {
            secret: Secret::Rsa(pair),
            public,
        })
    }

    fn of_ec(der: &[u8]) -> Option<Self> {
        let mut pairs = Curve::ALL
            .iter()
            .filter_map(|curve| EcdsaKeyPair::from_private_key_der(curve.signing(), der).ok());
        let pair = pairs.next()?;
        let der: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
        let public = PublicKey::of_der(der.as_ref())?;
        Some(Self {
            secret: Secret::Ec(pair),
            public,
        })
    }
}

impl PublicKey {
    /// Every key of a PEM file; of a private key, its public half.
    pub(crate) fn read_all(pem: &[u8]) -> Vec<Self> {
        let key = |block: Pem| match block.label.as_str() {
            "PUBLIC KEY" => Self::of_der(&block.contents),
            "CERTIFICATE" => {
                let (_, certificate) = X509Certificate::from_der(&block.contents).ok()?;
                Self::of_der(certificate.tbs_certificate.subject_pki.raw)
            }
            _ => Some(SigningKey::of_block(&block)?.public),
        };
        blocks(pem).filter_map(key).collect()
    }

    fn of_der(der: &[u8]) -> Option<Self> {
        let (_, info) = SubjectPublicKeyInfo::from_der(der).ok()?;
        let algorithm = match info.parsed().ok()? {
            Parsed::RSA(key) if key.key_size() >= RSA_BITS_MIN => Algorithm::Rs256,
            Parsed::EC(point) => Algorithm::of_curve(curve_of(point.data())?),
            _ => return None,
        };
        Some(Self {
            id: BASE64.encode(Sha256::digest(der)),
            algorithm,
            der: der.to_vec(),
        })
    }

    /// The key as a JWK (RFC 7517).
    pub(crate) fn as_jwk(&self) -> Value {
        let mut key = json!({ "use": "sig", "kid": self.id, "alg": self.algorithm.name() });
        let info = SubjectPublicKeyInfo::from_der(&self.der);
        let parsed = info.as_ref().ok().and_then(|(_, info)| info.parsed().ok());
        match parsed {
            Some(Parsed::RSA(rsa)) => {
                key["kty"] = "RSA".into();
                key["n"] = BASE64.encode(without_zeros(rsa.modulus)).into();
                key["e"] = BASE64.encode(without_zeros(rsa.exponent)).into();
            }
            Some(Parsed::EC(point)) => {
                if let Some(curve) = curve_of(point.data()) {
                    let (size, name) = curve.form();
                    let (x, y) = point.data()[1..].split_at(size);
                    key["kty"] = "EC".into();
                    key["crv"] = name.into();
                    key["x"] = BASE64.encode(x).into();
                    key["y"] = BASE64.encode(y).into();
                }
            }
            _ => {}
        }
        key
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

/// The curve of an uncompressed point, by its length.
fn curve_of(point: &[u8]) -> Option<Curve> {
    let (first, coordinates) = point.split_first()?;
    let fits = |curve: &Curve| *first == 4 && coordinates.len() == 2 * curve.form().0;
    Curve::ALL.into_iter().find(|curve| fits(curve))
}

fn blocks(pem: &[u8]) -> impl Iterator<Item = Pem> {
    Pem::iter_from_buffer(pem).map_while(Result::ok)
}
