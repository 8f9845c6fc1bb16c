import Foundation
import MartletAPI
import MartletCore

/// Decides whether a request's credentials grant access to its route. One per event loop.
///
/// Missing and invalid credentials get the same refusal, and both parts of a pair are always looked up.
final class Gatekeeper {
    /// Replaced when the key ring changes, with effect from the next request.
    var ring = KeyRingIndex.empty {
        didSet {
            generation += 1
            forgetGrants()
            tokens = [:]
            staffTokens = [:]
        }
    }

    /// Sessions that have ended. A cached grant stores its session but not when its token expires, so a new cut-off
    /// invalidates the cached grants of all connections.
    var revoked = RevokedSessions() {
        didSet {
            if revoked.cutOff != oldValue.cutOff { generation += 1 }
        }
    }

    private var generation = 0
    private let signer: PrincipalSigner
    private let masterKeyNetworks: [Network]
    private var grants: [GrantKey: Grant] = [:]
    private var visitor: Grant?
    private var uses: [String: Double] = [:]
    /// Claims of tokens whose signatures were verified. Verification costs as much as the rest of a request.
    private var tokens: [DigestKey: AccessToken] = [:]
    private var staffTokens: [DigestKey: StaffToken] = [:]

    static let grantSeconds = 30.0
    private static let maximumGrants = 10_000
    private static let maximumTokens = 10_000

    private struct GrantKey: Hashable {
        var first: String
        var second: String?
        var environment: AppEnvironment
        var user: String?
        var session: String?
        /// When the token expires; a session has several tokens.
        var expires: Int64?
        var mustReset = false
        var confirmed: Int64?
    }

    /// The credentials found in a request.
    struct Presented {
        var kind: RouteCredential
        var appKey: UnsafeRawBufferPointer?
        var secret: UnsafeRawBufferPointer?
        var masterKey: UnsafeRawBufferPointer?
        var project: UnsafeRawBufferPointer?
        var environment: UnsafeRawBufferPointer?
        /// The end user on whose behalf the app's server acts: `X-Martlet-User`, with a master key only.
        var user: UnsafeRawBufferPointer?
        /// The access token of the signed-in end user or staff member.
        var token: UnsafeRawBufferPointer?
        /// The app named in the path of a staff request.
        var appID: UnsafeRawBufferPointer?
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

    /// The grant for a request without credentials on a route that needs none, shared by all of them.
    func visitor(at seconds: Double) throws(Refusal) -> Grant {
        if let visitor, visitor.validUntil > seconds { return visitor }
        let grant = Grant(
            principal: .visitor, credentialIDs: [], scopes: .all, header: try sign(.visitor, at: seconds),
            validUntil: seconds + Self.grantSeconds)
        visitor = grant
        return grant
    }

    /// Returns the credentials used since the last call, with the time of use in seconds since 1970.
    func takeCredentialUses() -> [String: Double] {
        for grant in grants.values { recordUse(of: grant) }
        defer { uses = [:] }
        return uses
    }

    private func decide(_ presented: Presented, from address: IPAddress?, at seconds: Double) throws(Refusal) -> Grant {
        let now = seconds
        // Naming a user restricts permissions. Where the header has no effect it is refused, so that no caller relies
        // on it.
        guard presented.user == nil || [.client, .master, .masterBearer].contains(presented.kind) else {
            throw Refusal(.unauthorized)
        }
        switch presented.kind {
        case .client, .master:
            let key = entry(presented.appKey, .client, from: address, at: now)
            let secret = entry(presented.secret, .secret, from: address, at: now)
            let master = entry(presented.masterKey, .master, from: address, at: now)
            guard let key else { throw Refusal(.unauthorized) }
            guard presented.masterKey == nil else {
                guard let master, master.app.id == key.app.id else { throw Refusal(.unauthorized) }
                return try grant(presented, master, key, as: .master, at: now)
            }
            guard presented.user == nil, let secret, secret.app.id == key.app.id else { throw Refusal(.unauthorized) }
            return try grant(presented, key, secret, as: .client, at: now)
        case .masterBearer:
            guard let master = entry(presented.masterKey, .master, from: address, at: now) else {
                throw Refusal(.unauthorized)
            }
            guard presented.user == nil else { throw Refusal(.forbidden, Self.notForUsers) }
            return try grant(.master, master, nil, presented.environment, at: now)
        case .ingest:
            guard let key = entry(presented.secret, .ingest, from: address, at: now),
                isNumber(presented.project, key.app.number)
            else { throw Refusal(.unauthorized) }
            return try grant(.ingest, key, nil, presented.environment, at: now)
        case .evaluation:
            guard let key = entry(presented.secret, .evaluation, from: address, at: now) else {
                throw Refusal(.unauthorized)
            }
            return try grant(.evaluation, key, nil, presented.environment, at: now)
        case .link:
            guard let key = entry(presented.appKey, .client, from: address, at: now) else {
                throw Refusal(.unauthorized)
            }
            return try grant(.link, key, nil, presented.environment, at: now)
        case .staff:
            return try staffGrant(presented, at: now)
        case .none:
            throw Refusal(.internalError)
        }
    }

    /// Returns the grant for a pair of credentials. A request that names a user, by token or by id, has exactly that
    /// user's permissions on every route: services see a client, even if the credential was a master key.
    ///
    /// - Parameter kind: The principal's kind if no user is named.
    private func grant(
        _ presented: Presented, _ first: KeyRingIndex.Entry, _ second: KeyRingIndex.Entry, as kind: Principal.Kind,
        at seconds: Double
    ) throws(Refusal) -> Grant {
        guard presented.user == nil || presented.token == nil else {
            throw Refusal(.invalidToken, "Send either an access token or X-Martlet-User, not both.")
        }
        let isForUser = presented.user != nil || presented.token != nil
        let user = try presented.user.map { text throws(Refusal) in try Self.userID(text) }
        let granted = try grant(
            isForUser ? .client : kind, first, second, presented.environment, user: user, token: presented.token,
            at: seconds)
        guard presented.kind == .client || granted.principal.kind == .master else {
            throw Refusal(.forbidden, kind == .master ? Self.notForUsers : "This call needs a master key.")
        }
        return granted
    }

    private static let notForUsers: StaticString =
        "This call needs a master key alone; omit X-Martlet-User and the user's token."

    private func isNumber(_ project: UnsafeRawBufferPointer?, _ number: Int) -> Bool {
        guard let project else { return true }
        return FieldLines.contentLength(project) == Int64(number)
    }

    /// The credential `text`, if it is of `kind`, has not expired and may be used from `address`.
    private func entry(
        _ text: UnsafeRawBufferPointer?, _ kind: CredentialKind, from address: IPAddress?, at seconds: Double
    ) -> KeyRingIndex.Entry? {
        guard let entry = ring.entry(for: text ?? UnsafeRawBufferPointer(start: nil, count: 0), kind, at: seconds)
        else { return nil }
        guard let networks = entry.networks ?? (kind == .master ? masterKeyNetworks : nil) else { return entry }
        guard let address, networks.contains(where: { $0.contains(address) }) else { return nil }
        return entry
    }

    private func grant(
        _ kind: Principal.Kind, _ first: KeyRingIndex.Entry, _ second: KeyRingIndex.Entry?,
        _ header: UnsafeRawBufferPointer?, user: String? = nil, token: UnsafeRawBufferPointer? = nil, at seconds: Double
    ) throws(Refusal) -> Grant {
        let own = first.environment ?? second?.environment ?? .live
        let environment = try Self.environment(header, of: own)
        let claims = try token.map { text throws(Refusal) in
            try self.claims(text, appID: first.app.id, environment, at: seconds)
        }
        let user = claims?.userID ?? user
        let key = GrantKey(
            first: first.id, second: second?.id, environment: environment, user: user, session: claims?.sessionID,
            expires: claims?.expires)
        return try keep(
            Principal(
                kind: kind, appID: first.app.id, appNumber: first.app.number, environment: environment,
                credentialID: first.id,
                userID: user, sessionID: claims?.sessionID),
            key, of: [first.id] + (second.map { [$0.id] } ?? []),
            for: first.scopes.intersection(second?.scopes ?? .all), isOfServer: first.kind == .master,
            until: min(first.expires, second?.expires ?? .infinity, claims.map { Double($0.expires) } ?? .infinity),
            at: seconds)
    }

    /// Returns the cached grant for `key`, or creates one.
    private func keep(
        _ principal: @autoclosure () -> Principal, _ key: GrantKey, of credentialIDs: @autoclosure () -> [String] = [],
        for scopes: ScopeMask = .all, isOfServer: Bool = false, until end: Double = .infinity, at seconds: Double
    ) throws(Refusal) -> Grant {
        if let grant = grants[key], grant.validUntil > seconds { return grant }
        let principal = principal()
        let grant = Grant(
            principal: principal, credentialIDs: credentialIDs(), scopes: scopes, isOfServer: isOfServer,
            header: try sign(principal, at: seconds),
            validUntil: min(seconds + Self.grantSeconds, end))
        if let old = grants[key] { recordUse(of: old) }
        if grants.count >= Self.maximumGrants { forgetGrants() }
        grants[key] = grant
        return grant
    }

    /// Without a token, the grant is for a staff member who has not signed in; it names no app.
    private func staffGrant(_ presented: Presented, at seconds: Double) throws(Refusal) -> Grant {
        guard let text = presented.token else {
            return try keep(Principal.staff(nil), GrantKey(first: "staff", environment: .live), at: seconds)
        }
        let digest = DigestKey(of: text)
        guard let token = staffTokens[digest] ?? ring.staffToken(from: text, at: seconds),
            Double(token.expires) > seconds,
            !revoked.refuses(token), var staff = ring.staff(token.staffID)
        else { throw Refusal(.invalidToken) }
        if staffTokens.count >= Self.maximumTokens { staffTokens = [:] }
        staffTokens[digest] = token
        staff.mustReset = token.mustReset
        staff.confirmed = token.confirmed
        var app: KeyRingIndex.App?
        if let id = presented.appID {
            guard let known = ring.app(id.text) else { throw Refusal(.notFound) }
            app = known
        }
        let environment = try Self.environment(presented.environment, of: .live)
        let key = GrantKey(
            first: "staff", second: app?.id, environment: environment, user: staff.id, session: token.sessionID,
            expires: token.expires,
            mustReset: token.mustReset, confirmed: token.confirmed)
        return try keep(
            Principal.staff(
                staff, sessionID: token.sessionID, appID: app?.id ?? "", appNumber: app?.number ?? 0, environment), key,
            until: Double(token.expires), at: seconds)
    }

    private func sign(_ principal: Principal, at seconds: Double) throws(Refusal) -> String {
        guard let header = try? signer.header(for: principal, at: Date(timeIntervalSince1970: seconds)) else {
            throw Refusal(.internalError)
        }
        return header
    }

    /// The claims of a token that is currently valid for this app and environment.
    private func claims(
        _ text: UnsafeRawBufferPointer, appID: String, _ environment: AppEnvironment, at seconds: Double
    ) throws(Refusal) -> AccessToken {
        let digest = DigestKey(of: text)
        guard let token = tokens[digest] ?? ring.token(from: text, at: seconds), Double(token.expires) > seconds,
            token.appID == appID,
            token.environment == environment, !revoked.refuses(token)
        else { throw Refusal(.invalidToken) }
        if tokens.count >= Self.maximumTokens { tokens = [:] }
        tokens[digest] = token
        return token
    }

    /// Accepts 1 to 128 of `A-Z a-z 0-9 _ - .`, so that no user id looks like a role.
    private static func userID(_ bytes: UnsafeRawBufferPointer) throws(Refusal) -> String {
        let isWellFormed = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
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

    /// A test key never reaches live data, even if the header asks for it.
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
        for grant in grants.values { recordUse(of: grant) }
        grants = [:]
    }

    private func recordUse(of grant: Grant) {
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
        if let session = grant.principal.sessionID, revoked.contains(session) { return nil }
        return presented.withCredentialBytes { credentialBytes in
            memo.credentialBytes.withUnsafeBytes { $0.equalsInConstantTime(credentialBytes) }
        } ? grant : nil
    }

    private func remember(_ grant: Grant, _ presented: Presented, from address: IPAddress?, _ memo: GrantMemo) {
        memo.credentialBytes = presented.withCredentialBytes { Array($0) }
        memo.grant = grant
        memo.generation = generation
        memo.address = address
    }
}

extension Gatekeeper.Presented {
    /// Concatenates all parts unambiguously: headers and paths cannot contain the byte, 0 or 1, that follows each part.
    @inline(__always)
    fileprivate func withCredentialBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let parts = (appKey, secret, masterKey, project, environment, user, token, appID)
        func length(_ part: UnsafeRawBufferPointer?) -> Int { (part?.count ?? 0) + 1 }
        let total =
            1 + length(parts.0) + length(parts.1) + length(parts.2) + length(parts.3) + length(parts.4)
            + length(parts.5) + length(parts.6) + length(parts.7)
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
            add(parts.7)
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
        case .staff: 7
        case .masterBearer: 8
        }
    }
}

extension Principal {
    fileprivate static func staff(
        _ staff: StaffGrant?, sessionID: String? = nil, appID: String = "", appNumber: Int = 0,
        _ environment: AppEnvironment = .live
    ) -> Principal {
        Principal(
            kind: .staff, appID: appID, appNumber: appNumber, environment: environment, credentialID: staff?.id ?? "",
            sessionID: sessionID,
            staff: staff)
    }
}
