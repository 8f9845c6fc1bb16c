/// How a space wants its events to be taken and kept.
struct SpaceSettings: Sendable, Equatable {
    enum Privacy: String, Sendable, CaseIterable {
        /// Persons are known from day to day by the ids that the app gives them; of others a digest lasts for a day. No
        /// address is kept.
        case standard
        /// Nobody is known from one day to the next; nothing is kept of persons but that they opted out.
        case strict
    }

    static let retentionRange = 1...3_650

    /// After which an event is deleted.
    var retentionDays = 395
    var privacy = Privacy.standard
    /// Off: what comes is answered as if it were taken.
    var isCollecting = true
    /// In which days are counted, by its name in the IANA's database.
    var timeZone = "UTC"
}

/// What of a space's settings is to be set; nil: stays.
struct SettingsChange: Sendable {
    var retentionDays: Int?
    var privacy: SpaceSettings.Privacy?
    var isCollecting: Bool?
    var timeZone: String?
}
