import Foundation
import MartletCore
import MartletPostgres
import MartletPush

/// The platform of a device.
enum Platform: String, Codable, Sendable, CaseIterable {
    case ios, macos, watchos, tvos, visionos, android, web

    /// The push services that can reach the platform, the most common one first.
    var services: [PushService] {
        switch self {
        case .ios, .macos, .watchos, .tvos, .visionos: [.apns, .fcm]
        case .android: [.fcm]
        case .web: [.webpush, .fcm]
        }
    }
}

/// A service that delivers push messages to devices.
enum PushService: String, Codable, Sendable, CaseIterable {
    case apns, fcm, webpush

    /// The kind of credential that the service requires.
    var credential: CredentialKind {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .webpush: .webpush
        }
    }
}

/// The properties of an installation with a token that are needed to send to it.
struct Device: Sendable {
    let id: UUID
    let space: Int32
    let platform: Platform
    let service: PushService
    /// Whether the token belongs to the APNs sandbox, because the app was signed for development.
    let isSandbox: Bool
    /// The APNs token in hexadecimal, the FCM registration token, or the endpoint of a web push subscription. Never log
    /// it.
    let token: String
    /// `p256dh` and `auth` of a web push subscription, in base64url.
    let publicKey, authSecret: String?
    /// Nil means the first bundle id of the credential.
    let bundleID: String?
    let userID, appVersion, locale, timeZone: String?
    /// The badge last sent or reported.
    let badge: Int

    /// The columns that `init(_:from:)` reads from `notifications.installations AS i`. Valid only for rows where
    /// `i.token IS NOT NULL`.
    static let columns: PostgresQuery = """
        i.id, i.space, i.platform, i.service, i.is_sandbox, i.token, i.public_key, i.auth_secret, i.bundle_id, i.user_id,
        i.app_version, i.locale, i.time_zone, i.badge
        """
    static let columnCount = 14

    /// - Parameter column: The index of the first of `columns` in the row.
    /// - Throws: `PostgresError`, also for a row without a token.
    init(_ row: PostgresRow, from column: Int = 0) throws {
        id = try row.decode(column)
        space = try row.decode(column + 1)
        platform = try row.word(column + 2)
        service = try row.word(column + 3)
        isSandbox = try row.decode(column + 4)
        token = try row.decode(column + 5)
        publicKey = try row.decode(column + 6)
        authSecret = try row.decode(column + 7)
        bundleID = try row.decode(column + 8)
        userID = try row.decode(column + 9)
        appVersion = try row.decode(column + 10)
        locale = try row.decode(column + 11)
        timeZone = try row.decode(column + 12)
        badge = try row.decode(column + 13, as: Int.self)
    }

    init(
        id: UUID, space: Int32, platform: Platform, service: PushService, isSandbox: Bool = false, token: String,
        publicKey: String? = nil,
        authSecret: String? = nil, bundleID: String? = nil, userID: String? = nil,
        appVersion: String? = nil,
        locale: String? = nil, timeZone: String? = nil, badge: Int = 0
    ) {
        self.id = id
        self.space = space
        self.platform = platform
        self.service = service
        self.isSandbox = isSandbox
        self.token = token
        self.publicKey = publicKey
        self.authSecret = authSecret
        self.bundleID = bundleID
        self.userID = userID
        self.appVersion = appVersion
        self.locale = locale
        self.timeZone = timeZone
        self.badge = badge
    }

    /// The host of a web push endpoint. Nil for services with a single address, "" for a malformed endpoint.
    var host: String? {
        guard service == .webpush else { return nil }
        let parts = token.split(separator: "/", maxSplits: 2)
        return parts.count > 1 ? parts[1].lowercased() : ""
    }

    /// The APNs environment of the token.
    var environment: APNsEnvironment { isSandbox ? .sandbox : .production }
}

extension PostgresRow {
    /// Decodes a column that holds one of a fixed set of words.
    func word<Word: RawRepresentable<String>>(_ column: Int, as _: Word.Type = Word.self) throws -> Word {
        guard let word = Word(rawValue: try decode(column)) else { throw DatabaseWordError(column: column) }
        return word
    }
}

/// A column contains a word that this version does not know.
struct DatabaseWordError: Error, Equatable {
    var column: Int
}
