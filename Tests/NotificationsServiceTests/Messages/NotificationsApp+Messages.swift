import Foundation
import MartletCore
import MartletPostgres
import MartletTesting

@testable import NotificationsService

/// A row of the table of installations; ids follow their number.
struct TestInstallation: Sendable {
    var number: Int
    var user: String?
    var platform = "ios"
    var service = "apns"
    var locale: String?
    var timeZone: String?
    var appVersion: String?
    var channels: [String] = []
    var attributes = "{}"
    var hasToken = true

    init(
        _ number: Int, user: String? = nil, platform: String = "ios", service: String = "apns", locale: String? = nil,
        timeZone: String? = nil,
        appVersion: String? = nil, channels: [String] = [], attributes: String = "{}", hasToken: Bool = true
    ) {
        self.number = number
        self.user = user
        self.platform = platform
        self.service = service
        self.locale = locale
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.channels = channels
        self.attributes = attributes
        self.hasToken = hasToken
    }

    var id: UUID { Self.id(number) }

    static func id(_ number: Int) -> UUID {
        let digits = String(number)
        return UUID(uuidString: "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits)!
    }
}

extension NotificationsApp {
    func install(_ installations: [TestInstallation]) async throws {
        let space = try await space
        try await storeCredentials()
        for one in installations {
            let token: String? = one.hasToken ? "token-\(one.number)" : nil
            try await postgres.execute(
                """
                INSERT INTO notifications.installations (
                    space, id, secret_digest, platform, service, token, user_id, app_version, locale, time_zone, channels, attributes)
                VALUES (\(space.id), \(one.id), '\\x00'::bytea, \(one.platform), \(one.service), \(token), \(one.user), \(one.appVersion),
                    \(one.locale), \(one.timeZone), \(one.channels), \(PostgresJSON(one.attributes)))
                """)
        }
    }

    /// Stores unusable credentials for all push services: messages are created, and their deliveries wait.
    func storeCredentials() async throws {
        try await postgres.execute(
            """
            INSERT INTO notifications.credentials (space, kind, shown, sealed, author)
            SELECT \(try await space.id), kind, '{}', '\\x00', 'test' FROM unnest(ARRAY['apns', 'fcm', 'webpush']) AS k (kind) ON CONFLICT DO NOTHING
            """)
    }

    /// Creates installations with tokens, numbered from 1.
    func install(_ count: Int) async throws {
        let space = try await space
        try await storeCredentials()
        try await postgres.execute(
            """
            INSERT INTO notifications.installations (space, id, secret_digest, platform, service, token)
            SELECT \(space.id), ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, '\\x00', 'ios', 'apns', 'token-' || n
            FROM generate_series(1, \(count)) AS n
            """, timeout: .seconds(120))
    }

    /// A timing that sends nothing for an hour: it is now quiet for devices without a time zone.
    static var quiet: String {
        func clock(_ offset: Double) -> String {
            String(Date().addingTimeInterval(offset).rfc3339.dropFirst(11).prefix(5))
        }
        return #""timing":{"quietHours":{"from":"\#(clock(-3_600))","to":"\#(clock(3_600))"}}"#
    }

    /// Orders a message and returns its id.
    func order(_ body: String) async throws -> UUID {
        let answer = try await master("POST", "/notifications/messages", body)
        guard answer.status == 201,
            let id = answer["id"].flatMap({ UUID(uuidString: String($0.dropFirst().dropLast())) })
        else {
            throw OrderFailed(answer: "\(answer)")
        }
        return id
    }

    /// Waits until the plan of a message is complete.
    @discardableResult
    func planned(_ id: UUID) async throws -> Message {
        try await eventually("message \(id) is planned") {
            let message = try await message(id)
            return message.isPlanned || message.state.isFinished ? message : nil
        }
    }

    func message(_ id: UUID) async throws -> Message {
        guard let message = try await service.messages.store.find(id, in: try await space.id) else {
            throw OrderFailed(answer: "no message")
        }
        return message
    }

    struct Planned: Sendable, Equatable {
        var number: Int
        var variant: Int
        var due: Date
        var state: String
    }

    /// Deliveries of a message by the number of their installation.
    func deliveries(_ id: UUID) async throws -> [Planned] {
        try await postgres.query(
            """
            SELECT right(installation::text, 12)::bigint, variant, due, state FROM notifications.deliveries WHERE message = \(id) ORDER BY installation
            """
        ).map {
            Planned(number: try $0.decode(0), variant: try $0.decode(1), due: try $0.decode(2), state: try $0.decode(3))
        }
    }

    func count(_ table: String) async throws -> Int {
        let table = PostgresIdentifier(schema: "notifications", name: table)!
        return try await postgres.query("SELECT count(*) FROM \(table)")[0].decode(0)
    }
}

struct OrderFailed: Error {
    var answer: String
}
