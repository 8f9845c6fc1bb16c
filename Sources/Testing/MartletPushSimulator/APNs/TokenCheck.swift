import Crypto
import Foundation
import MartletCore

/// Checks provider tokens as APNs does.
struct TokenCheck {
    static let lifetime: TimeInterval = 3_600
    static let updateInterval: TimeInterval = 20 * 60
    /// How far ahead a sender's clock may be.
    static let leeway: TimeInterval = 60

    private struct Known {
        var key: SimulatedKey
        var issued: Date
    }

    private var keys: [String: SimulatedKey] = [:]
    private var known: [String: Known] = [:]
    /// The issue times of accepted tokens, by key id.
    private var updates: [String: [Date]] = [:]
    /// The text of every accepted token.
    var acceptedTokens: Set<String> { Set(known.keys) }

    mutating func trust(_ key: SimulatedKey) { keys[key.keyID] = key }

    /// - Parameter authorization: The value of the `authorization` header.
    /// - Returns: The key, or APNs's reason for refusing the token.
    mutating func key(_ authorization: String?, at now: Date) -> (key: SimulatedKey?, reason: String) {
        guard let authorization, authorization.lowercased().hasPrefix("bearer ") else {
            return (nil, "MissingProviderToken")
        }
        let text = String(authorization.dropFirst(7))
        guard let token = known[text] ?? verified(text) else { return (nil, "InvalidProviderToken") }
        guard token.issued.timeIntervalSince(now) <= Self.leeway else { return (nil, "InvalidProviderToken") }
        guard now.timeIntervalSince(token.issued) <= Self.lifetime else { return (nil, "ExpiredProviderToken") }
        if known[text] == nil {
            guard acceptsUpdate(token) else { return (nil, "TooManyProviderTokenUpdates") }
            known[text] = token
        }
        return (token.key, "")
    }

    /// Whether a token that was not seen before may be used.
    ///
    /// Accepts an issue time that was accepted before, because instances of a sender sign the same issue time with
    /// different random numbers. Refuses a new issue time less than 20 minutes after the last one. Apple does not state
    /// whether the times of issue or of arrival count. The check uses the times of issue, because with the times of
    /// arrival, tests that cross one of the sender's periods would fail.
    private mutating func acceptsUpdate(_ token: Known) -> Bool {
        let accepted = updates[token.key.keyID] ?? []
        if accepted.contains(token.issued) { return true }
        if let last = accepted.last, abs(token.issued.timeIntervalSince(last)) < Self.updateInterval { return false }
        updates[token.key.keyID] = accepted + [token.issued]
        return true
    }

    private func verified(_ text: String) -> Known? {
        let parts = text.parts(between: ".")
        guard parts.count == 3, let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            header["alg"] == .string("ES256"), case .string(let keyID)? = header["kid"], let key = keys[keyID],
            claims["iss"] == .string(key.teamID), case .number(let literal)? = claims["iat"],
            let issued = Int64(literal),
            let parsed = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.privateKey.publicKey.isValidSignature(parsed, for: Data("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        return Known(key: key, issued: Date(timeIntervalSince1970: TimeInterval(issued)))
    }

    private static func json(_ part: String) -> JSONValue? {
        Base64URL.decode(part).flatMap { try? JSONValue(parsing: $0) }
    }
}
