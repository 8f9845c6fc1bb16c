import MartletAPI

/// Counts requests in progress per client address and per credential, so that no single client can occupy all
/// connections to an upstream.
///
/// Each event loop has one instance for ordinary requests and one for long-lived streams.
struct InFlightLimits {
    /// The counters that one request occupies. Give it back exactly once.
    struct Slot {
        fileprivate let address: IPAddress?
        fileprivate var credential: String?
    }

    private let perAddress: Int
    private let perCredential: Int
    private var addresses: [IPAddress: Int] = [:]
    private var credentials: [String: Int] = [:]

    init(perAddress: Int, perCredential: Int) {
        self.perAddress = perAddress
        self.perCredential = perCredential
    }

    /// Counts a request, or refuses it when its address or its credential is at its limit.
    mutating func enter(address: IPAddress?, credential: String?) throws(Refusal) -> Slot {
        if let address, addresses[address, default: 0] >= perAddress { throw Self.refusal }
        if let credential, credentials[credential, default: 0] >= perCredential { throw Self.refusal }
        if let address { addresses[address, default: 0] += 1 }
        if let credential { credentials[credential, default: 0] += 1 }
        return Slot(address: address, credential: credential)
    }

    /// Also counts the request under its credential, or refuses it when that credential is at its limit.
    mutating func add(credential: String, to slot: inout Slot) throws(Refusal) {
        guard credentials[credential, default: 0] < perCredential else { throw Self.refusal }
        credentials[credential, default: 0] += 1
        slot.credential = credential
    }

    mutating func leave(_ slot: Slot) {
        if let address = slot.address { Self.lower(&addresses, address) }
        if let credential = slot.credential { Self.lower(&credentials, credential) }
    }

    private static func lower<Name>(_ counts: inout [Name: Int], _ name: Name) {
        guard let count = counts[name] else { return }
        counts[name] = count > 1 ? count - 1 : nil
    }

    private static var refusal: Refusal {
        Refusal(
            .tooManyRequests, "Too many requests are in progress; retry after some have been answered.", retryAfter: 1)
    }
}
