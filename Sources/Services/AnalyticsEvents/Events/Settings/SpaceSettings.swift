/// How events of a space are collected and kept.
struct SpaceSettings: Sendable, Equatable {
    enum Privacy: String, Sendable, CaseIterable {
        /// Persons with an id that the app sends are recognized from day to day. Others are recognized within a day, by
        /// a digest that changes daily. Addresses are not stored.
        case standard
        /// Nobody is recognized on another day. Nothing is stored about persons except opt-outs.
        case strict
    }

    static let retentionRange = 1...3_650

    /// Number of days after which an event is deleted.
    var retentionDays = 395
    var privacy = Privacy.standard
    /// If false, events are accepted but not stored.
    var isCollecting = true
    /// The IANA name of the time zone whose days events are counted by.
    var timeZone = "UTC"
}

/// Changes to a space's settings; nil leaves a setting as it is.
struct SettingsChange: Sendable {
    var retentionDays: Int?
    var privacy: SpaceSettings.Privacy?
    var isCollecting: Bool?
    var timeZone: String?
}
