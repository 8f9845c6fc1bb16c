/// What roll-ups tell events apart by, as `analytics.hours`, `days` and `people_sets` number it. A number is never
/// given another meaning.
enum Dimension: Int16, Sendable, CaseIterable {
    case all = 0
    /// Names of what is neither a screen nor a page.
    case event = 1
    /// Names of screens and pages.
    case screen = 2
    case release = 3
    case os = 4
    case device = 5
    case country = 6
    case configuration = 7
    /// In `people_sets` only: everybody, by the hour.
    case hour = 100

    /// As questions have it.
    var name: String { "\(self)" }

    /// Those a question may ask for.
    static let groups: [Dimension] = [.event, .screen, .release, .os, .device, .country, .configuration]

    init?(group name: String) {
        guard let dimension = Self.groups.first(where: { $0.name == name }) else { return nil }
        self = dimension
    }

    /// Whether it is a column of events by itself, not a kind of name.
    var isAttribute: Bool { rawValue >= Dimension.release.rawValue && self != .hour }
}
