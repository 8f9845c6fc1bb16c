import Crypto
import Foundation

/// What an authenticator says of itself and of the moment (WebAuthn §6.1).
struct AuthenticatorData: Sendable {
    /// A credential that was just made (WebAuthn §6.5.1).
    struct NewCredential: Sendable {
        /// Which model of authenticator has it; zeros where it does not say.
        var model: UUID
        var id: Data
        /// COSE.
        var publicKey: Data
    }

    private static let fixedLength = 37

    let relyingPartyIDHash: Data
    private let flags: UInt8
    let signCount: Int64
    let newCredential: NewCredential?

    /// Whether somebody was there, and whether it was the one who may use it, by a fingerprint or a PIN.
    var isUserPresent: Bool { flags & 0x01 != 0 }
    var isUserVerified: Bool { flags & 0x04 != 0 }
    /// Whether it may be copied to other devices, and is now.
    private var isBackupEligible: Bool { flags & 0x08 != 0 }
    var isBackedUp: Bool { flags & 0x10 != 0 }

    /// - Throws: `PasskeyRefusal` also for bytes behind what the flags announce.
    init(_ data: Data) throws(PasskeyRefusal) {
        let bytes = Array(data)
        guard bytes.count >= Self.fixedLength else { throw Self.refusal }
        relyingPartyIDHash = Data(bytes[..<32])
        flags = bytes[32]
        signCount = bytes[33..<37].reduce(0) { $0 << 8 | Int64($1) }
        var rest = bytes[Self.fixedLength...]
        newCredential = flags & 0x40 != 0 ? try Self.takeCredential(&rest) : nil
        if flags & 0x80 != 0 {
            // Extensions. None is asked for, but they have to be whole.
            guard case .map = try Self.take(&rest) else { throw Self.refusal }
        }
        guard rest.isEmpty else { throw Self.refusal }
        guard isBackupEligible || !isBackedUp else { throw Self.refusal }
    }

    /// - Throws: `PasskeyRefusal` unless it was made for the relying party with somebody being there.
    func check(for party: RelyingParty) throws(PasskeyRefusal) {
        guard relyingPartyIDHash.elementsEqual(SHA256.hash(data: Data(party.id.utf8))) else {
            throw PasskeyRefusal("The passkey is not one of this relying party.")
        }
        guard isUserPresent else { throw PasskeyRefusal("The authenticator does not say that somebody was there.") }
    }

    private static let refusal = PasskeyRefusal("The authenticator data is not well-formed.")

    private static func takeCredential(_ rest: inout ArraySlice<UInt8>) throws(PasskeyRefusal) -> NewCredential {
        guard rest.count >= 18 else { throw refusal }
        let model = rest.prefix(16).withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        rest = rest.dropFirst(16)
        let length = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
        guard PasskeyCredential.idLengths.contains(length), rest.count >= length else { throw refusal }
        let id = Data(rest.prefix(length))
        rest = rest.dropFirst(length)
        let before = rest
        _ = try take(&rest)
        return NewCredential(model: model, id: id, publicKey: Data(before.prefix(before.count - rest.count)))
    }

    private static func take(_ rest: inout ArraySlice<UInt8>) throws(PasskeyRefusal) -> CBOR {
        var reader = CBORReader(rest)
        guard let value = try? reader.take() else { throw refusal }
        rest = rest.dropFirst(reader.offset)
        return value
    }
}
