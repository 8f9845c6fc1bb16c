/// The kind of an event, as stored in `analytics.events.kind`. A number is never reused for another kind.
enum EventKind: Int, Sendable, CaseIterable {
    case track = 1
    case screen = 2
    case page = 3
    case identify = 4
    case group = 5
    case alias = 6

    /// Looks a kind up by the value of `type` in Segment's messages.
    init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }

    var name: String {
        switch self {
        case .track: "track"
        case .screen: "screen"
        case .page: "page"
        case .identify: "identify"
        case .group: "group"
        case .alias: "alias"
        }
    }
}

/// The kind of a term, as stored in `analytics.terms.kind`. A number is never reused for another kind.
enum TermKind: Int, Sendable, CaseIterable {
    case name = 1
    case release = 2
    case os = 3
    case device = 4
    case configuration = 5
    case variants = 6
    case country = 7

    /// Maximum number of terms of this kind in a space. Further terms count as `(other)`.
    var maximum: Int {
        switch self {
        case .name, .device, .variants: 2_000
        case .release, .configuration: 1_000
        case .os: 500
        case .country: 300
        }
    }

    /// The term that stands for all those beyond `maximum`.
    static let overflow = "(other)"
    /// Longer texts are cut off.
    static let maximumLengthInBytes = 255
    static let maximumLengthOfVariantsInBytes = 1_000
}
