//! Certificates and keys in PEM, for servers and clients under test.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

/// Name in certificates of servers in this process.
const LOCALHOST: &str = "127.0.0.1";
/// First day of validity, long ago; the last one is in [`VALID_UNTIL_YEAR`] unless a test says otherwise.
const VALID_FROM_YEAR: i32 = 2020;
const VALID_UNTIL_YEAR: i32 = 2099;

/// A certificate, its key, and the certificate of its CA, in PEM.
#[derive(Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    /// Certificate of its CA; the certificate itself if that is self-signed.
    pub authority: String,
}

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Creates an authority with a common name.
    ///
    /// # Panics
    ///
    /// If no key can be generated.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = key();
        let certificate = params.self_signed(&key).expect("the parameters are sound");
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// The certificate of the authority.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a certificate for a host name or an address.
    ///
    /// # Panics
    ///
    /// If it is neither.
    pub fn issue(&self, name: &str) -> Pair {
        self.sign(&params(name, VALID_UNTIL_YEAR))
    }

    /// Issues a certificate with parameters of the test.
    ///
    /// # Panics
    ///
    /// If the parameters contradict each other.
    pub fn sign(&self, params: &CertificateParams) -> Pair {
        let key = key();
        let certificate = params.signed_by(&key, &self.issuer);
        Pair {
            certificate: certificate.expect("the parameters are sound").pem(),
            key: key.serialize_pem(),
            authority: self.pem.clone(),
        }
    }
}

/// Self-signed certificate of a CA for 127.0.0.1: the simplest one that a server can use.
pub fn own_authority() -> Pair {
    let is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    self_signed(LOCALHOST, is_ca, VALID_UNTIL_YEAR)
}

/// Certificate for 127.0.0.1, issued by an authority of its own.
pub fn issued() -> Pair {
    Authority::new("authority").issue(LOCALHOST)
}

/// Self-signed certificate with this `basicConstraints` and last year of validity.
pub fn self_signed(name: &str, is_ca: IsCa, until_year: i32) -> Pair {
    let mut params = params(name, until_year);
    params.is_ca = is_ca;
    sealed(&params)
}

/// Self-signed certificate for 127.0.0.1 with one extended key usage.
pub fn used_by(purpose: ExtendedKeyUsagePurpose) -> Pair {
    let mut params = params(LOCALHOST, VALID_UNTIL_YEAR);
    params.extended_key_usages = vec![purpose];
    sealed(&params)
}

fn params(name: &str, until_year: i32) -> CertificateParams {
    let mut params = CertificateParams::new([name.to_owned()]).expect("a host name or address");
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(VALID_FROM_YEAR, 1, 1);
    params.not_after = date_time_ymd(until_year, 1, 1);
    params
}

fn sealed(params: &CertificateParams) -> Pair {
    let key = key();
    let certificate = params.self_signed(&key).expect("the parameters are sound");
    let certificate = certificate.pem();
    Pair {
        authority: certificate.clone(),
        certificate,
        key: key.serialize_pem(),
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key can be generated")
}
