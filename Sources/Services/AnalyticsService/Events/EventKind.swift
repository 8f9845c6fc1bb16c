/// What an event is, as `analytics.events.kind` has it. A number is never given another meaning.
enum EventKind: Int, Sendable, CaseIterable {
    case track = 1
    case screen = 2
    case page = 3
    case identify = 4
    case group = 5
    case alias = 6

    /// By the name that Segment's messages have in `type`.
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

/// What a term says of events, as `analytics.terms.kind` has it. A number is never given another meaning.
enum TermKind: Int, Sendable, CaseIterable {
    case name = 1
    case release = 2
    case os = 3
    case device = 4
    case configuration = 5
    case variants = 6
    case country = 7

    /// How many of them a space may have; what comes later counts as `(other)`.
    var maximum: Int {
        switch self {
        case .name, .device, .variants: 2_000
        case .release, .configuration: 1_000
        case .os: 500
        case .country: 300
        }
    }

    /// What stands for all that a space may not have more of.
    static let overflow = "(other)"
    /// Longer texts are cut.
    static let maximumLengthInBytes = 255
    static let maximumLengthOfVariantsInBytes = 1_000
}
