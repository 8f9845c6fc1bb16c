/// The dimensions of roll-ups, as numbered in `analytics.hours`, `days` and `people_sets`. A number is never reused for
/// another dimension.
enum Dimension: Int16, Sendable, CaseIterable {
    case all = 0
    /// Names of events other than screens and pages.
    case event = 1
    /// Names of screens and pages.
    case screen = 2
    case release = 3
    case os = 4
    case device = 5
    case country = 6
    case configuration = 7
    /// Only in `people_sets`: all persons, by hour.
    case hour = 100

    /// The name in questions.
    var name: String { "\(self)" }

    /// The dimensions that questions can group by.
    static let groups: [Dimension] = [.event, .screen, .release, .os, .device, .country, .configuration]

    init?(group name: String) {
        guard let dimension = Self.groups.first(where: { $0.name == name }) else { return nil }
        self = dimension
    }

    /// Whether events have a column for the dimension. The two kinds of names have none.
    var isAttribute: Bool { rawValue >= Dimension.release.rawValue && self != .hour }
}
