import MartletAPI

/// The areas that a credential may use or a request needs: two bits per area, one for reading and one for changing.
///
/// Computed once when a key ring or the routes are loaded, so that checking a request is one integer operation.
struct ScopeMask: Sendable, Equatable {
    private var bits: UInt64

    /// All areas: a credential without scopes.
    static let all = ScopeMask(bits: .max)

    private init(bits: UInt64) {
        self.bits = bits
    }

    /// - Parameter scopes: Nil means no limit. Unknown scopes grant nothing.
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

    /// The permission for a request in an area. Nil is an area outside all scopes, open only to credentials without
    /// scopes.
    init(_ area: KeyArea?, isReading: Bool) {
        let place = area.flatMap { KeyArea.allCases.firstIndex(of: $0) } ?? 31
        bits = 1 << UInt64(place * 2 + (isReading ? 0 : 1))
    }

    @inline(__always)
    func contains(_ needed: ScopeMask) -> Bool { bits & needed.bits == needed.bits }

    func intersection(_ other: ScopeMask) -> ScopeMask { ScopeMask(bits: bits & other.bits) }
}
