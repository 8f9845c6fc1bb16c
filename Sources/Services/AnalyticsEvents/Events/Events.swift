package import Foundation
package import Logging
package import MartletHTTP
package import MartletPostgres
package import ServiceLifecycle

/// Receives events and stores them.
package struct Events: Sendable {
    let spaces: Spaces
    let settings: SettingsStore
    let people: PeopleStore
    let salts: Salts
    let days: EventDays
    let maximumAge: TimeInterval
    let now: @Sendable () -> Date
    private let postgres: PostgresClient
    private let terms: Terms
    private let queue: EventQueue

    package init(
        postgres: PostgresClient, spaces: Spaces, settings: EventSettings, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) {
        self.spaces = spaces
        self.postgres = postgres
        self.now = now
        self.settings = SettingsStore(postgres: postgres)
        people = PeopleStore(postgres: postgres)
        salts = Salts(postgres: postgres)
        terms = Terms(postgres: postgres)
        maximumAge = TimeInterval(settings.maximumAgeInDays * 86_400)
        queue = EventQueue(
            store: EventStore(postgres: postgres, now: now), people: people, limits: settings.queue, logger: logger)
        days = EventDays(postgres: postgres, salts: salts, logger: logger)
    }

    package var background: [any Service] { [queue, days] }

    var subjects: UserSubjects { UserSubjects(postgres: postgres, spaces: spaces, salts: salts) }

    /// Personal data, one holder per part. Events come before blocks and roll-ups, which would otherwise be rebuilt
    /// from them; people come after the parts that are looked up through them.
    package var userData: [(String, any UserDataHolder)] {
        [
            ("events", EventUserData(postgres: postgres, subjects: subjects)),
            ("blocks", BlockUserData(postgres: postgres, subjects: subjects)),
            ("rollups", RollUpUserData(postgres: postgres, subjects: subjects)),
            ("people", PeopleUserData(postgres: postgres, subjects: subjects)),
        ]
    }

    var log: EventLog { EventLog(postgres: postgres) }

    /// Returns once the events are committed. Returns at once if the events need not be stored.
    ///
    /// - Throws: `too-many-requests`, `unavailable`; `PostgresError`.
    func take(_ events: [IncomingEvent], in space: Space, _ settings: SpaceSettings) async throws {
        guard settings.isCollecting, !events.isEmpty else { return }
        let needed = events.reduce(into: Set<Term>()) { terms, event in
            for (kind, text) in event.texts { terms.insert(Term(space: space.id, kind: kind, text: text)) }
        }
        let numbers = try await terms.numbers(of: needed)
        var submission = EventSubmission(
            rows: events.map { EventRow($0, in: space, numbers) }, sizeInBytes: events.reduce(0) { $0 + $1.sizeInBytes }
        )
        for event in events {
            for alias in event.aliases {
                submission.links.append(
                    PeopleStore.Link(space: Int(space.id), person: alias, account: event.subject.account))
            }
            guard let traits = event.traits else { continue }
            submission.traits.append(
                PeopleStore.Traits(
                    space: Int(space.id), person: event.subject.person, device: event.subject.device, at: event.at,
                    text: traits))
        }
        try await queue.write(submission)
    }
}

/// Settings: `events.queue` (20000: maximum number of events waiting to be written), `events.queue.bytes` (32 MiB),
/// `events.writers` (2: concurrent statements), `events.age.days` (30: older events are rejected).
package struct EventSettings: Sendable {
    var queue = EventQueue.Limits()
    var maximumAgeInDays = 30

    package init() {}

    /// - Throws: `SettingsError`.
    package init(_ settings: Settings) throws {
        queue.events = try settings.integer("events.queue", default: queue.events, in: 100...1_000_000)
        queue.sizeInBytes = try settings.integer(
            "events.queue.bytes", default: queue.sizeInBytes, in: (1 << 20)...(1 << 32))
        queue.writers = try settings.integer("events.writers", default: queue.writers, in: 1...16)
        maximumAgeInDays = try settings.integer("events.age.days", default: maximumAgeInDays, in: 1...365)
    }
}
