import Foundation
import MartletAPI
import MartletCore

/// Decides whether a request's credentials open its route. One per event loop.
///
/// Whatever is wrong or missing, the refusal is the same, and both parts of a pair are always looked up.
final class Gatekeeper {
    /// Replaced when the key ring changes; from the next request on it alone counts.
    var ring = KeyRingIndex.empty {
        didSet {
            generation += 1
            forgetGrants()
            tokens = [:]
        }
    }

    /// Sessions that have ended, and until when that matters.
    var revoked: [String: Int64] = [:]

    private var generation = 0
    private let signer: PrincipalSigner
    private let masterKeyNetworks: [Network]
    private var grants: [GrantKey: Grant] = [:]
    private var visitor: Grant?
    private var uses: [String: Double] = [:]
    /// What tokens said whose signature was found good: checking one costs as much as the rest of a request.
    private var tokens: [DigestKey: AccessToken] = [:]

    static let grantSeconds = 30.0
    private static let maximumGrants = 10_000
    private static let maximumTokens = 10_000

    private struct GrantKey: Hashable {
        var first: String
        var second: String?
        var environment: AppEnvironment
        var user: String?
        var session: String?
        /// Of the token: a session has several.
        var expires: Int64?
    }

    /// A request's credentials as found in it.
    struct Presented {
        var kind: RouteCredential
        var appKey: UnsafeRawBufferPointer?
        var secret: UnsafeRawBufferPointer?
        var masterKey: UnsafeRawBufferPointer?
        var project: UnsafeRawBufferPointer?
        var environment: UnsafeRawBufferPointer?
        /// The end user whom the app's server asks for: `X-Martlet-User`, with a master key only.
        var user: UnsafeRawBufferPointer?
        /// The access token of the end user who is signed in.
        var token: UnsafeRawBufferPointer?
    }

    init(signer: PrincipalSigner, masterKeyNetworks: [Network]) {
        self.signer = signer
        self.masterKeyNetworks = masterKeyNetworks
    }

    func grant(
        _ presented: Presented, from address: IPAddress?, memo: GrantMemo, at seconds: Double
    ) throws(Refusal) -> Grant {
        if let known = recall(presented, from: address, memo, at: seconds) {
            known.lastUsed = seconds
            return known
        }
        let grant = try decide(presented, from: address, at: seconds)
        remember(grant, presented, from: address, memo)
        grant.lastUsed = seconds
        return grant
    }

    /// Who comes with nothing, to a route that asks for nothing: the same for all of them.
    func visitor(at seconds: Double) throws(Refusal) -> Grant {
        if let visitor, visitor.validUntil > seconds { return visitor }
        let grant = Grant(principal: .visitor, credentialIDs: [], header: try sign(.visitor, at: seconds), validUntil: seconds + Self.grantSeconds)
        visitor = grant
        return grant
    }

    /// Credentials used since the last call, with the time in seconds since 1970.
    func takeUses() -> [String: Double] {
        for grant in grants.values { noteUse(of: grant) }
        defer { uses = [:] }
        return uses
    }

    private func decide(_ presented: Presented, from address: IPAddress?, at seconds: Double) throws(Refusal) -> Grant {
        let now = seconds
        switch presented.kind {
        case .client, .master:
            let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
            let key = ring.entry(for: presented.appKey ?? nothing, .client, at: now)
            let secret = ring.entry(for: presented.secret ?? nothing, .secret, at: now)
            let master = ring.entry(for: presented.masterKey ?? nothing, .master, at: now)
            guard let key else { throw Refusal(.unauthorized) }
            if let master, master.app.id == key.app.id, isAllowed(master, from: address) {
                if let user = presented.user {
                    guard presented.kind == .client else { throw Refusal(.forbidden, "This is not for users: leave X-Martlet-User out.") }
                    guard presented.token == nil else { throw Refusal(.invalidToken, "Send a token or X-Martlet-User, not both.") }
                    return try grant(.client, master, key, presented.environment, user: try Self.userID(user), at: now)
                }
                if let token = presented.token { return try grant(.client, master, key, presented.environment, token: token, at: now) }
                return try grant(.master, master, key, presented.environment, at: now)
            }
            guard presented.user == nil else { throw Refusal(.unauthorized) }
            guard presented.masterKey == nil, let secret, secret.app.id == key.app.id else { throw Refusal(.unauthorized) }
            guard presented.kind == .client else { throw Refusal(.forbidden, "This needs a master key.") }
            return try grant(.client, key, secret, presented.environment, token: presented.token, at: now)
        case .ingest:
            guard let text = presented.secret, let key = ring.entry(for: text, .ingest, at: now),
                isNumber(presented.project, key.app.number)
            else { throw Refusal(.unauthorized) }
            return try grant(.ingest, key, nil, presented.environment, at: now)
        case .evaluation:
            guard let text = presented.secret, let key = ring.entry(for: text, .evaluation, at: now) else {
                throw Refusal(.unauthorized)
            }
            return try grant(.evaluation, key, nil, presented.environment, at: now)
        case .link:
            guard let text = presented.appKey, let key = ring.entry(for: text, .client, at: now) else {
                throw Refusal(.unauthorized)
            }
            return try grant(.link, key, nil, presented.environment, at: now)
        case .none:
            throw Refusal(.internalError)
        }
    }

    private func isNumber(_ project: UnsafeRawBufferPointer?, _ number: Int) -> Bool {
        guard let project else { return true }
        return FieldLines.contentLength(project) == Int64(number)
    }

    private func isAllowed(_ master: KeyRingIndex.Entry, from address: IPAddress?) -> Bool {
        guard let address else { return false }
        return (master.networks ?? masterKeyNetworks).contains { $0.contains(address) }
    }

    private func grant(
        _ kind: Principal.Kind, _ first: KeyRingIndex.Entry, _ second: KeyRingIndex.Entry?,
        _ header: UnsafeRawBufferPointer?, user: String? = nil, token: UnsafeRawBufferPointer? = nil, at seconds: Double
    ) throws(Refusal) -> Grant {
        let own = first.environment ?? second?.environment ?? .live
        let environment = try Self.environment(header, of: own)
        let claims = try token.map { text throws(Refusal) in try self.claims(text, appID: first.app.id, environment, at: seconds) }
        let user = claims?.userID ?? user
        let key = GrantKey(first: first.id, second: second?.id, environment: environment, user: user, session: claims?.sessionID,
            expires: claims?.expires)
        if let grant = grants[key], grant.validUntil > seconds { return grant }
        let principal = Principal(
            kind: kind, appID: first.app.id, appNumber: first.app.number, environment: environment, credentialID: first.id,
            userID: user, sessionID: claims?.sessionID)
        let grant = Grant(
            principal: principal, credentialIDs: [first.id] + (second.map { [$0.id] } ?? []), header: try sign(principal, at: seconds),
            validUntil: min(
                seconds + Self.grantSeconds, first.expires, second?.expires ?? .infinity, claims.map { Double($0.expires) } ?? .infinity))
        if let old = grants[key] { noteUse(of: old) }
        if grants.count >= Self.maximumGrants { forgetGrants() }
        grants[key] = grant
        return grant
    }

    private func sign(_ principal: Principal, at seconds: Double) throws(Refusal) -> String {
        guard let header = try? signer.header(for: principal, at: Date(timeIntervalSince1970: seconds)) else { throw Refusal(.internalError) }
        return header
    }

    /// What a token says that is good now, for this app and environment.
    private func claims(
        _ text: UnsafeRawBufferPointer, appID: String, _ environment: AppEnvironment, at seconds: Double
    ) throws(Refusal) -> AccessToken {
        let digest = DigestKey(of: text)
        guard let token = tokens[digest] ?? ring.token(from: text, at: seconds), Double(token.expires) > seconds, token.appID == appID,
            token.environment == environment, revoked[token.sessionID] == nil
        else { throw Refusal(.invalidToken) }
        if tokens.count >= Self.maximumTokens { tokens = [:] }
        tokens[digest] = token
        return token
    }

    /// 1 to 128 of `A-Z a-z 0-9 _ - .`, so that no user can be called like a role.
    private static func userID(_ bytes: UnsafeRawBufferPointer) throws(Refusal) -> String {
        let isWellFormed = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isWellFormed, (1...128).contains(bytes.count) else {
            throw Refusal(.invalidParameter, "X-Martlet-User must be 1 to 128 letters, digits or _ - .")
        }
        return bytes.text
    }

    /// A test key never reaches live data, whatever the header says.
    private static func environment(
        _ header: UnsafeRawBufferPointer?, of own: AppEnvironment
    ) throws(Refusal) -> AppEnvironment {
        guard let header else { return own }
        guard let wanted = AppEnvironment(rawValue: header.text) else {
            throw Refusal(.invalidParameter, "X-Martlet-Environment must be live or test.")
        }
        return own == .test ? .test : wanted
    }

    private func forgetGrants() {
        for grant in grants.values { noteUse(of: grant) }
        grants = [:]
    }

    private func noteUse(of grant: Grant) {
        guard grant.lastUsed > 0 else { return }
        for id in grant.credentialIDs { uses[id] = max(uses[id] ?? 0, grant.lastUsed) }
        grant.lastUsed = 0
    }

    private func recall(
        _ presented: Presented, from address: IPAddress?, _ memo: GrantMemo, at seconds: Double
    ) -> Grant? {
        guard let grant = memo.grant, memo.generation == generation, grant.validUntil > seconds,
            memo.address == address
        else { return nil }
        if let session = grant.principal.sessionID, revoked[session] != nil { return nil }
        return presented.withMaterial { material in
            memo.material.withUnsafeBytes { $0.equalsInConstantTime(material) }
        } ? grant : nil
    }

    private func remember(_ grant: Grant, _ presented: Presented, from address: IPAddress?, _ memo: GrantMemo) {
        memo.material = presented.withMaterial { Array($0) }
        memo.grant = grant
        memo.generation = generation
        memo.address = address
    }
}

extension Gatekeeper.Presented {
    /// All parts as one run of bytes that no other request spells; no header or path can hold the zero between them.
    @inline(__always)
    fileprivate func withMaterial<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let parts = (appKey, secret, masterKey, project, environment, user, token)
        func length(_ part: UnsafeRawBufferPointer?) -> Int { (part?.count ?? 0) + 1 }
        let total = 1 + length(parts.0) + length(parts.1) + length(parts.2) + length(parts.3) + length(parts.4)
            + length(parts.5) + length(parts.6)
        return withUnsafeTemporaryAllocation(byteCount: total, alignment: 8) { memory in
            memory[0] = kind.tag
            var count = 1
            func add(_ part: UnsafeRawBufferPointer?) {
                if let part, !part.isEmpty {
                    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: part)
                    count += part.count
                }
                memory[count] = part == nil ? 0 : 1
                count += 1
            }
            add(parts.0)
            add(parts.1)
            add(parts.2)
            add(parts.3)
            add(parts.4)
            add(parts.5)
            add(parts.6)
            return body(UnsafeRawBufferPointer(memory))
        }
    }
}

extension RouteCredential {
    fileprivate var tag: UInt8 {
        switch self {
        case .client: 1
        case .master: 2
        case .ingest: 3
        case .evaluation: 4
        case .none: 5
        case .link: 6
        }
    }
}
