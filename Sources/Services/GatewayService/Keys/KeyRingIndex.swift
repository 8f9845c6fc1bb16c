import Crypto
import Foundation
import MartletAPI
import MartletCore

/// A SHA-256 digest as a dictionary key.
struct DigestKey: Hashable, Sendable {
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// The digest of a presented credential.
    init(of text: UnsafeRawBufferPointer) {
        words = SHA256.hash(data: text).withUnsafeBytes { Self.words($0) }
    }

    /// Reads 64 hexadecimal digits.
    init?(hex: String) {
        var bytes: [UInt8] = []
        var digits = hex.utf8.makeIterator()
        while let first = digits.next() {
            guard let second = digits.next(), let high = hexadecimal(first), let low = hexadecimal(second) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        guard bytes.count == 32 else { return nil }
        words = bytes.withUnsafeBytes { Self.words($0) }
    }

    private static func words(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64, UInt64, UInt64) {
        func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) }
        return (word(0), word(1), word(2), word(3))
    }

    static func == (a: DigestKey, b: DigestKey) -> Bool {
        // No early exit: the time does not reveal where two digests differ.
        (a.words.0 ^ b.words.0) | (a.words.1 ^ b.words.1) | (a.words.2 ^ b.words.2) | (a.words.3 ^ b.words.3) == 0
    }

    func hash(into hasher: inout Hasher) {
        // The hasher is seeded per process, so hashes are unpredictable; one word of a digest is sufficiently random.
        hasher.combine(words.0)
    }
}

/// The key ring indexed for look-ups. Immutable and shared by all event loops.
///
/// Entries are found by the digest of the complete presented text, so the look-up time depends on bits that no client
/// can control.
final class KeyRingIndex: Sendable {
    struct Entry: Sendable {
        var app: App
        var id: String
        var kind: CredentialKind
        var environment: AppEnvironment?
        /// Seconds since 1970.
        var expires: Double
        /// Nil allows all networks, or for a master key the gateway's default.
        var networks: [Network]?
        var scopes: ScopeMask
    }

    struct App: Sendable {
        var id: String
        var number: Int
    }

    let version: Int64
    private let entries: [DigestKey: Entry]
    private let apps: [String: App]
    private let staff: [String: StaffGrant]
    private let verifiers: [(verifier: AccessTokenVerifier, expires: Double)]

    static let empty = KeyRingIndex(KeyRing(version: -1, apps: []))

    /// Omits credentials with an unreadable digest, and ignores unreadable networks: what cannot be checked grants
    /// nothing.
    init(_ ring: KeyRing) {
        version = ring.version
        var entries: [DigestKey: Entry] = [:]
        for app in ring.apps {
            for credential in app.credentials {
                guard let digest = DigestKey(hex: credential.sha256) else { continue }
                entries[digest] = Entry(
                    app: App(id: app.id, number: app.number), id: credential.id, kind: credential.kind,
                    environment: credential.environment,
                    expires: credential.expires?.timeIntervalSince1970 ?? .infinity,
                    networks: credential.networks.map { $0.compactMap(Network.init) },
                    scopes: ScopeMask(credential.scopes))
            }
        }
        self.entries = entries
        apps = Dictionary(ring.apps.map { ($0.id, App(id: $0.id, number: $0.number)) }) { first, _ in first }
        staff = Dictionary(ring.staff.map { ($0.id, $0) }) { first, _ in first }
        verifiers = ring.signingKeys.compactMap { key in
            AccessTokenVerifier(key).map { ($0, key.expires?.timeIntervalSince1970 ?? .infinity) }
        }
    }

    /// The claims of a token that was signed with one of our keys; nil otherwise.
    func token(from text: UnsafeRawBufferPointer, at seconds: Double) -> AccessToken? {
        for (verifier, expires) in verifiers where expires > seconds {
            if let token = verifier.token(from: text) { return token }
        }
        return nil
    }

    /// The claims of a staff token that was signed with one of our keys; nil otherwise.
    func staffToken(from text: UnsafeRawBufferPointer, at seconds: Double) -> StaffToken? {
        for (verifier, expires) in verifiers where expires > seconds {
            if let token = verifier.staffToken(from: text) { return token }
        }
        return nil
    }

    func app(_ id: String) -> App? { apps[id] }

    /// Nil if the staff member was deleted or disabled.
    func staff(_ id: String) -> StaffGrant? { staff[id] }

    /// The credential `text`, if it is of `kind` and has not expired.
    func entry(for text: UnsafeRawBufferPointer, _ kind: CredentialKind, at seconds: Double) -> Entry? {
        guard let entry = entries[DigestKey(of: text)], entry.kind == kind, entry.expires > seconds else { return nil }
        return entry
    }
}
