//! The Noise handshake of a control connection and the cipher of its frames:
//! Noise_NNpsk0_25519_ChaChaPoly_SHA256 (Noise Protocol Framework, revision 34, sections 7.5 and 9),
//! by the crate `snow`. The pre-shared key is derived from the token.

use super::keys::mac;
use crate::token::Token;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState, TransportState};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Authentication tag of each message.
pub const TAG_BYTES: usize = 16;
/// Maximum length of a message with its tag.
pub const MAX_MESSAGE: usize = 65_535;
/// Private key of the ephemeral key pair, from the operating system's random numbers.
pub type EphemeralKey = [u8; 32];
/// Secret of a session, which the server draws and sends encrypted.
pub type SessionSecret = [u8; 32];
/// First message: an ephemeral public key and a tag under the pre-shared key.
pub const INITIATION_BYTES: usize = 32 + TAG_BYTES;
/// Second message: the same, with the session's secret.
pub const RESPONSE_BYTES: usize = 32 + 32 + TAG_BYTES;

/// The peer's message is not authentic: it has another token, or was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAuthentic;

/// The client between its first message and the server's.
pub struct Initiator(HandshakeState);

impl Initiator {
    /// `prologue` are the unencrypted bytes before the message; both ends must have the same.
    pub fn new(token: &Token, ephemeral: EphemeralKey, prologue: &[u8]) -> (Initiator, [u8; INITIATION_BYTES]) {
        let mut state = handshake(token, ephemeral, prologue, |builder| builder.build_initiator());
        let mut message = [0; INITIATION_BYTES];
        state.write_message(&[], &mut message).unwrap_or_else(|e| unreachable!("a first message: {e}"));
        (Initiator(state), message)
    }

    pub fn finish(mut self, response: &[u8]) -> Result<(TransportState, SessionSecret), NotAuthentic> {
        let mut secret = SessionSecret::default();
        let read = self.0.read_message(response, &mut secret).map_err(|_| NotAuthentic)?;
        let transport = self.0.into_transport_mode().map_err(|_| NotAuthentic)?;
        if read == secret.len() { Ok((transport, secret)) } else { Err(NotAuthentic) }
    }
}

/// The server's side. A repeated first message passes it: only the client that made the message can
/// encrypt a frame afterwards.
pub fn respond(
    token: &Token,
    ephemeral: EphemeralKey,
    prologue: &[u8],
    initiation: &[u8],
    secret: &SessionSecret,
) -> Result<(TransportState, [u8; RESPONSE_BYTES]), NotAuthentic> {
    let mut state = handshake(token, ephemeral, prologue, |builder| builder.build_responder());
    state.read_message(initiation, &mut []).map_err(|_| NotAuthentic)?;
    let mut response = [0; RESPONSE_BYTES];
    state.write_message(secret, &mut response).map_err(|_| NotAuthentic)?;
    Ok((state.into_transport_mode().map_err(|_| NotAuthentic)?, response))
}

fn handshake(
    token: &Token,
    ephemeral: EphemeralKey,
    prologue: &[u8],
    build: impl FnOnce(Builder<'_>) -> Result<HandshakeState, snow::Error>,
) -> HandshakeState {
    let psk = mac(token.bytes(), "noise psk", &[]);
    PATTERN
        .parse()
        .map(|parameters| Builder::with_resolver(parameters, Box::new(WithEphemeral(ephemeral))))
        .and_then(|builder| builder.psk(0, &psk))
        .and_then(|builder| builder.prologue(prologue))
        .and_then(build)
        .unwrap_or_else(|e| unreachable!("{PATTERN}: {e}"))
}

/// snow's primitives, with random numbers as an argument.
struct WithEphemeral(EphemeralKey);

impl CryptoResolver for WithEphemeral {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(OneKey(Some(self.0))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        DefaultResolver.resolve_dh(choice)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Gives the ephemeral key once.
struct OneKey(Option<EphemeralKey>);

impl Random for OneKey {
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), snow::Error> {
        let key = self.0.take().filter(|key| key.len() == out.len()).ok_or(snow::Error::Rng)?;
        out.copy_from_slice(&key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROLOGUE: &[u8] = b"prologue";

    fn token(c: char) -> Token {
        Token::parse(&format!("{c}q7ZkX2mW9vB4nT8sL1rY6pD")).unwrap()
    }

    #[test]
    fn both_ends_have_the_secret_and_keys_when_their_tokens_are_equal() {
        let (client, initiation) = Initiator::new(&token('a'), [1; 32], PROLOGUE);
        let (mut server, response) = respond(&token('a'), [2; 32], PROLOGUE, &initiation, &[3; 32]).unwrap();
        assert!(!response.windows(32).any(|w| w == [3; 32]), "the secret is encrypted");
        let (mut client, secret) = client.finish(&response).unwrap();
        assert_eq!(secret, [3; 32]);
        let (mut sent, mut read) = ([0; 64], [0; 64]);
        let length = client.write_message(b"request", &mut sent).unwrap();
        assert_eq!(server.read_message(&sent[..length], &mut read), Ok(7));
        assert_eq!(&read[..7], b"request");
    }

    #[test]
    fn handshake_fails_when_token_or_prologue_or_any_byte_differs() {
        let (_, initiation) = Initiator::new(&token('a'), [1; 32], PROLOGUE);
        let respond = |name, prologue, message: &[u8]| respond(&token(name), [2; 32], prologue, message, &[3; 32]).map(|r| r.1);
        assert_eq!(respond('b', PROLOGUE, &initiation), Err(NotAuthentic));
        assert_eq!(respond('a', b"another", &initiation), Err(NotAuthentic));
        assert_eq!(respond('a', PROLOGUE, &initiation[1..]), Err(NotAuthentic));
        for at in 0..initiation.len() {
            let mut changed = initiation;
            changed[at] ^= 1;
            // Bit 255 of a public key is ignored by X25519 (RFC 7748, section 5), and covered by the tag.
            assert_eq!(respond('a', PROLOGUE, &changed), Err(NotAuthentic), "byte {at}");
        }
        let response = respond('a', PROLOGUE, &initiation).unwrap();
        for at in 0..response.len() {
            let mut changed = response;
            changed[at] ^= 1;
            let (client, _) = Initiator::new(&token('a'), [1; 32], PROLOGUE);
            assert_eq!(client.finish(&changed).err(), Some(NotAuthentic), "byte {at}");
        }
        let (impostor, _) = Initiator::new(&token('a'), [4; 32], PROLOGUE);
        assert_eq!(impostor.finish(&response).err(), Some(NotAuthentic), "without the ephemeral key");
    }
}
