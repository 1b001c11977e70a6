//! The key set of an issuer (RFC 7517).

use aws_lc_rs::signature::{RsaPublicKeyComponents, UnparsedPublicKey};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use lockstep_object::Value;

use super::settings::{SigningAlgorithm, Verification};
use crate::accounts::jws::{self, NotSigned};

/// Keys that verify tokens of an issuer.
#[derive(Default)]
pub(super) struct KeySet {
    keys: Vec<Key>,
    /// True once the set was fetched, even if it is empty.
    is_fetched: bool,
}

struct Key {
    /// Key id; empty if it has none.
    id: String,
    /// The only algorithm of the key; empty if it does not name one.
    algorithm: String,
    material: Material,
}

enum Material {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    Ec {
        curve: String,
        /// Uncompressed.
        point: Vec<u8>,
    },
}

impl KeySet {
    /// Reads a key set; `None` if it is malformed. Keys of other types and for other uses are skipped.
    pub(super) fn read(set: &Value) -> Option<Self> {
        let keys = set["keys"].as_array()?.iter().filter_map(Key::read);
        Some(Self {
            keys: keys.collect(),
            is_fetched: true,
        })
    }

    pub(super) fn is_fetched(&self) -> bool {
        self.is_fetched
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Verifies a token with one of the keys and algorithms, and returns its payload.
    pub(super) fn verify(
        &self,
        algorithms: &[SigningAlgorithm],
        token: &str,
    ) -> Result<Value, NotSigned> {
        let apart = jws::take_apart(token)?;
        let named = apart.header["alg"].as_str().unwrap_or_default();
        let algorithm = algorithms.iter().find(|known| known.name() == named);
        let algorithm = *algorithm.ok_or(NotSigned::Stranger)?;
        let id = apart.header["kid"].as_str().unwrap_or_default();
        let mut told = NotSigned::Stranger;
        for key in &self.keys {
            let is_meant = id.is_empty() || key.id == id;
            let fits = key.algorithm.is_empty() || key.algorithm == named;
            if !is_meant || !fits {
                continue;
            }
            match key.has_signed(algorithm, apart.signed.as_bytes(), &apart.signature) {
                Some(true) => return apart.payload(),
                Some(false) => told = NotSigned::Forged,
                None => {}
            }
        }
        Err(told)
    }
}

impl Key {
    fn read(key: &Value) -> Option<Self> {
        let text = |field: &str| key[field].as_str().unwrap_or_default().to_owned();
        if !["", "sig"].contains(&text("use").as_str()) {
            return None;
        }
        let number = |field: &str| BASE64.decode(text(field)).ok().filter(|n| !n.is_empty());
        let material = match text("kty").as_str() {
            "RSA" => Material::Rsa(RsaPublicKeyComponents {
                n: number("n")?,
                e: number("e")?,
            }),
            "EC" => Material::Ec {
                curve: text("crv"),
                point: [vec![4], number("x")?, number("y")?].concat(),
            },
            _ => return None,
        };
        Some(Self {
            id: text("kid"),
            algorithm: text("alg"),
            material,
        })
    }

    /// Verifies a signature; `None` if the algorithm needs another type of key.
    fn has_signed(
        &self,
        algorithm: SigningAlgorithm,
        signed: &[u8],
        signature: &[u8],
    ) -> Option<bool> {
        match (&self.material, algorithm.verification()) {
            (Material::Rsa(key), Verification::Rsa(how)) => {
                Some(key.verify(how, signed, signature).is_ok())
            }
            (Material::Ec { curve, point }, Verification::Ec(wanted, how)) if curve == wanted => {
                let key = UnparsedPublicKey::new(how, point);
                Some(key.verify(signed, signature).is_ok())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
    use aws_lc_rs::signature::{
        RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
        RSA_PSS_SHA512, RsaEncoding,
    };
    use rcgen::{
        KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ECDSA_P521_SHA512,
        PKCS_RSA_SHA256, RsaKeySize,
    };
    use serde_json::json;

    use super::*;
    use crate::accounts::keys::{PublicKey, SigningKey};

    fn encode(value: &Value) -> String {
        BASE64.encode(value.to_string())
    }

    /// The public key as a JWK without algorithm.
    fn told(pair: &KeyPair, id: &str) -> Value {
        let mut key = PublicKey::read_all(pair.public_key_pem().as_bytes())[0].as_jwk();
        let fields = key.as_object_mut().unwrap();
        fields.remove("alg");
        fields.insert("kid".to_owned(), id.into());
        key
    }

    fn algorithms(names: &str) -> Vec<SigningAlgorithm> {
        names.split(' ').map(|name| name.parse().unwrap()).collect()
    }

    const ALL: &str = "RS256 RS384 RS512 ES256 ES384 ES512 PS256 PS384 PS512";

    /// api-machinery.md §13/oidc: RS, PS and ES with all three digests.
    #[test]
    fn what_an_issuer_signs_in_any_way_that_is_allowed_is_known() {
        let payload = json!({ "sub": "alice" });
        let rsa = KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap();
        let keys = json!({ "keys": [{ "kty": "oct", "k": "AAAA" }, told(&rsa, "k")] });
        let keys = KeySet::read(&keys).unwrap();
        assert_eq!(keys.len(), 1);
        let pair = RsaKeyPair::from_pkcs8(&rsa.serialize_der()).unwrap();
        let ways: [(&str, &'static dyn RsaEncoding); 6] = [
            ("RS256", &RSA_PKCS1_SHA256),
            ("RS384", &RSA_PKCS1_SHA384),
            ("RS512", &RSA_PKCS1_SHA512),
            ("PS256", &RSA_PSS_SHA256),
            ("PS384", &RSA_PSS_SHA384),
            ("PS512", &RSA_PSS_SHA512),
        ];
        for (name, way) in ways {
            let header = json!({ "alg": name, "kid": "k" });
            let text = format!("{}.{}", encode(&header), encode(&payload));
            let mut signature = vec![0; pair.public_modulus_len()];
            let random = SystemRandom::new();
            pair.sign(way, &random, text.as_bytes(), &mut signature)
                .unwrap();
            let token = format!("{text}.{}", BASE64.encode(&signature));
            let verify = |names: &str| keys.verify(&algorithms(names), &token);
            assert_eq!(verify(ALL), Ok(payload.clone()), "{name}");
            let others: Vec<&str> = ALL.split(' ').filter(|other| *other != name).collect();
            assert_eq!(verify(&others.join(" ")), Err(NotSigned::Stranger));
        }
        for (name, algorithm) in [
            ("ES256", &PKCS_ECDSA_P256_SHA256),
            ("ES384", &PKCS_ECDSA_P384_SHA384),
            ("ES512", &PKCS_ECDSA_P521_SHA512),
        ] {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let signing = SigningKey::read(pair.serialize_pem().as_bytes()).unwrap();
            let token = jws::sign(&signing, &payload).unwrap();
            let keys = json!({ "keys": [told(&pair, &signing.public.id)] });
            let keys = KeySet::read(&keys).unwrap();
            let verify = |names: &str| keys.verify(&algorithms(names), &token);
            assert_eq!(verify(name), Ok(payload.clone()), "{name}");
            assert_eq!(verify("RS256"), Err(NotSigned::Stranger), "{name}");
        }
    }

    #[test]
    fn keys_of_others_for_other_uses_and_odd_ones_sign_nothing() {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let signing = SigningKey::read(pair.serialize_pem().as_bytes()).unwrap();
        let token = jws::sign(&signing, &json!({ "sub": "alice" })).unwrap();
        let own = told(&pair, &signing.public.id);
        let with = |field: &str, value: Value| {
            let mut key = own.clone();
            key[field] = value;
            key
        };
        let verify = |key: Value| {
            let keys = KeySet::read(&json!({ "keys": [key] })).unwrap();
            keys.verify(&algorithms(ALL), &token)
        };
        assert_eq!(verify(own.clone()), Ok(json!({ "sub": "alice" })));
        for (field, value, expected) in [
            ("kid", json!("other"), NotSigned::Stranger),
            ("use", json!("enc"), NotSigned::Stranger),
            ("alg", json!("RS256"), NotSigned::Stranger),
            ("crv", json!("P-384"), NotSigned::Stranger),
            ("kty", json!("oct"), NotSigned::Stranger),
            ("x", json!(""), NotSigned::Stranger),
            ("x", json!("AAAA"), NotSigned::Forged),
            ("y", own["x"].clone(), NotSigned::Forged),
        ] {
            assert_eq!(verify(with(field, value)), Err(expected), "{field}");
        }
        assert!(KeySet::read(&json!({ "keys": {} })).is_none());
    }
}
