import MartletAPI
import MartletCore

/// The result of admission checks for an accepted request.
struct Admission {
    let match: RouteTable.Match
    let grant: Grant?
    let isUpgrade: Bool
    /// The client address that limits are counted by; nil if the client has no IP address.
    let address: IPAddress?

    /// Checks the rate of the address, then route, length, credentials and their rates. The cheapest checks come first,
    /// so that an attacker's request costs the gateway little.
    init(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ client: ClientConnection, _ worker: Worker)
        throws(Refusal)
    {
        let address = try Self.countAddress(head, bytes, client, worker)
        self.address = address?.bucket
        match = try worker.routes.match(head.path, method: head.method, in: bytes)
        if let length = head.contentLength, length > match.route.maximumBodyBytes { throw Refusal(.payloadTooLarge) }
        grant = try Self.grant(match, head, bytes, client, address, worker)
        // An app's server sends the requests of all its users from one address, so they do not count under it. The
        // token is returned only now, when the key is known to be valid, so that requests with wrong keys do count.
        if let address, grant?.isOfServer == true { Self.giveBack(address, worker) }
        if let grant, !grant.scopes.contains(match.route.scope(of: head.method)) {
            throw Refusal(.forbidden, "The key's scopes do not allow this request.")
        }
        if let buckets = worker.settings.keyBuckets, let credential = grant?.limitedCredential {
            try Self.take(buckets, credential, address, worker)
        }
        if let buckets = worker.settings.userBuckets, let user = grant?.user {
            try Self.take(buckets, user, address, worker)
        }
        isUpgrade = match.route.isStreaming && head.asksForWebSocket(bytes)
    }

    /// Counts the request under the client's address and returns the address. Throws if the rate is exceeded.
    static func countAddress(
        _ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ client: ClientConnection, _ worker: Worker
    ) throws(Refusal) -> IPAddress? {
        let address = client.address(head, bytes, worker.settings)
        if let buckets = worker.settings.addressBuckets, let name = address?.bucket {
            try take(buckets, name, address, worker)
        }
        return address
    }

    private static func take<Name>(
        _ buckets: TokenBuckets<Name>, _ name: Name, _ address: IPAddress?, _ worker: Worker
    ) throws(Refusal) {
        guard buckets.counts(address) else { return }
        if let seconds = buckets.take(name, at: worker.now) { throw Refusal(.tooManyRequests, retryAfter: seconds) }
    }

    private static func giveBack(_ address: IPAddress, _ worker: Worker) {
        guard let buckets = worker.settings.addressBuckets, buckets.counts(address) else { return }
        buckets.giveBack(address.bucket)
    }

    private static func grant(
        _ match: RouteTable.Match, _ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ client: ClientConnection,
        _ address: IPAddress?, _ worker: Worker
    ) throws(Refusal) -> Grant? {
        let route = match.route
        guard route.credential != .none else { return try worker.gatekeeper.visitor(at: worker.seconds) }
        var presented = Gatekeeper.Presented(kind: route.credential)
        presented.environment = head.value(head.environment, in: bytes)
        presented.user = head.value(head.user, in: bytes)
        presented.project = route.projectIndex.map { bytes[match.captures[$0]] }
        switch route.credential {
        case .client, .master:
            presented.appKey = route.appKeyIndex.map { bytes[match.captures[$0]] }
            presented.secret = head.value(head.secret, in: bytes)
            presented.masterKey = head.value(head.masterKey, in: bytes)
            presented.token = try token(route, head, bytes)
        case .link:
            presented.appKey = route.appKeyIndex.map { bytes[match.captures[$0]] }
            _ = try token(route, head, bytes)
        case .staff:
            presented.appID = route.appIDIndex.map { bytes[match.captures[$0]] }
            presented.token = try token(route, head, bytes)
            if head.dashboard >= 0 {
                let cookie = try BrowserSession.token(head, bytes)
                if presented.token == nil, !route.ignoresToken { presented.token = cookie }
            }
            guard route.ignoresToken || presented.token != nil else { throw Refusal(.invalidToken) }
        case .evaluation:
            presented.secret = ForeignCredentials.evaluationKey(head, bytes)
        case .masterBearer:
            presented.masterKey = ForeignCredentials.bearerToken(head, bytes)
        case .ingest:
            let key =
                route.ingestKeyIndex.map { Array(bytes[match.captures[$0]]) }
                ?? ForeignCredentials.ingestKey(head, bytes)
            guard let key else { throw Refusal(.unauthorized) }
            let result = key.withUnsafeBytes { key in
                presented.secret = key
                let presented = presented
                return Result { () throws(Refusal) in
                    try worker.gatekeeper.grant(presented, from: address, memo: client.memo, at: worker.seconds)
                }
            }
            return try result.get()
        case .none: break
        }
        return try worker.gatekeeper.grant(presented, from: address, memo: client.memo, at: worker.seconds)
    }

    /// The access token that applies to the request. A malformed token is refused on every route; routes that ignore
    /// tokens check nothing else.
    private static func token(
        _ route: Route, _ head: RequestHead, _ bytes: UnsafeRawBufferPointer
    ) throws(Refusal) -> UnsafeRawBufferPointer? {
        let token = try ForeignCredentials.accessToken(head, bytes)
        return route.ignoresToken ? nil : token
    }
}

extension TokenBuckets {
    fileprivate func counts(_ address: IPAddress?) -> Bool { !exemptsLoopback || address?.isLoopback == false }
}

extension IPAddress {
    /// The address that counts as one client: an IPv4 address, or the /64 of an IPv6 subscriber.
    var bucket: IPAddress { isV4 ? self : IPAddress(high: high, low: 0) }
}

extension RequestHead {
    /// Only WebSocket upgrades are forwarded. Through a tunnel of `h2c` or another protocol, requests would reach the
    /// service unchecked.
    fileprivate func asksForWebSocket(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard method == .get, minor == 1, connectionNamesUpgrade, !hasBody else { return false }
        return value(upgrade, in: bytes)?.spells("websocket") ?? false
    }
}

extension ClientConnection {
    /// The client's own address. Behind trusted proxies, the last `X-Forwarded-For` entry that is not a trusted proxy.
    fileprivate func address(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer, _ settings: Settings) -> IPAddress? {
        guard isTrustedProxy, let list = head.value(head.forwardedFor, in: bytes) else { return address }
        var hops: [IPAddress?] = []
        list.forEachListElement { hops.append(IPAddress($0.text)) }
        for hop in hops.reversed() {
            guard let hop else { return address }
            if !settings.trustedProxies.contains(where: { $0.contains(hop) }) { return hop }
        }
        return hops.first ?? address
    }
}
