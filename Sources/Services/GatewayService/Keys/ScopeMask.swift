import MartletAPI

/// What a credential opens or a request needs, as bits: two for each area, one for reading and one for changing.
///
/// Read once when a key ring or the routes come, so that a request costs one look at a number.
struct ScopeMask: Sendable, Equatable {
    private var bits: UInt64

    /// Everything: a credential without scopes.
    static let all = ScopeMask(bits: .max)

    private init(bits: UInt64) {
        self.bits = bits
    }

    /// - Parameter scopes: nil: no limit. A scope that this gateway does not know opens nothing.
    init(_ scopes: [String]?) {
        guard let scopes else {
            self = .all
            return
        }
        bits = 0
        for scope in scopes.compactMap(KeyScope.init) {
            bits |= ScopeMask(scope.area, isReading: true).bits
            if !scope.isReadOnly { bits |= ScopeMask(scope.area, isReading: false).bits }
        }
    }

    /// What a request in an area needs; nil: an area of no scope, which credentials without scopes alone open.
    init(_ area: KeyArea?, isReading: Bool) {
        let place = area.flatMap { KeyArea.allCases.firstIndex(of: $0) } ?? 31
        bits = 1 << UInt64(place * 2 + (isReading ? 0 : 1))
    }

    @inline(__always)
    func contains(_ needed: ScopeMask) -> Bool { bits & needed.bits == needed.bits }

    func intersection(_ other: ScopeMask) -> ScopeMask { ScopeMask(bits: bits & other.bits) }
}
