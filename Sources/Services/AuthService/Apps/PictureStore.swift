import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres

/// A picture in stored form: its bytes, and the type detected from them.
struct Picture: Sendable, Equatable {
    static let maximumIconSizeInBytes = 1 << 20
    static let maximumSizeInBytes = 4 << 20
    private static let types: Set<String> = ["image/png", "image/jpeg", "image/webp"]

    let contentType: String
    /// 64 hexadecimal digits.
    let sha256: String
    let bytes: Data

    /// Nil unless the bytes are a PNG, JPEG or WebP picture.
    init?(_ bytes: Data) {
        guard let type = ContentType.sniff(Array(bytes.prefix(ContentMeter.prefixLength))), Self.types.contains(type)
        else { return nil }
        contentType = type
        sha256 = Hexadecimal.text(SHA256.hash(data: bytes))
        self.bytes = bytes
    }

    fileprivate init(_ row: PostgresRow) throws {
        contentType = try row.decode(0)
        sha256 = try row.decode(1)
        bytes = try row.decode(2)
    }
}

/// The icons of apps and the pictures of their versions. Every change is recorded in the audit log.
struct PictureStore: Sendable {
    static let maximumPicturesPerVersion = 20
    static let maximumPictureBytesPerApp = 256 << 20

    let postgres: PostgresClient

    // MARK: Icons

    func icon(of appID: String) async throws -> Picture? {
        try await postgres.query("SELECT content_type, sha256, bytes FROM auth.app_icons WHERE app_id = \(appID)").first
            .map(Picture.init)
    }

    /// - Returns: The picture's properties as JSON.
    /// - Throws: The errors of `AppStore.lock`.
    func setIcon(_ picture: Picture, of appID: String, by author: AppAuthor) async throws -> String {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            return try await Self.setIcon(picture, of: appID, by: author, transaction)
        }
    }

    /// Runs in a transaction that holds the lock of the app.
    @discardableResult
    static func setIcon(_ picture: Picture, of appID: String, by author: AppAuthor, _ transaction: PostgresTransaction)
        async throws -> String
    {
        let before: String? = try await transaction.query(
            "SELECT \(json)::text FROM auth.app_icons AS p WHERE app_id = \(appID)"
        ).first?.decode(0)
        let after: String = try await transaction.query(
            """
            INSERT INTO auth.app_icons AS p (app_id, content_type, sha256, bytes)
            VALUES (\(appID), \(picture.contentType), \(picture.sha256), \(picture.bytes))
            ON CONFLICT (app_id) DO UPDATE SET content_type = excluded.content_type, sha256 = excluded.sha256, bytes = excluded.bytes
            RETURNING \(json)::text
            """)[0].decode(0)
        try await author.record("set-icon", of: appID, target: appID, before: before, after: after, transaction)
        return after
    }

    /// Returns false if there is none.
    func deleteIcon(of appID: String, by author: AppAuthor) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            let before: String? = try await transaction.query(
                "DELETE FROM auth.app_icons AS p WHERE app_id = \(appID) RETURNING \(Self.json)::text"
            ).first?.decode(0)
            guard let before else { return false }
            try await author.record("delete-icon", of: appID, target: appID, before: before, transaction)
            return true
        }
    }

    // MARK: Pictures of versions

    func picture(_ id: UUID, of version: VersionNumber, of appID: String) async throws -> Picture? {
        try await postgres.query(
            """
            SELECT content_type, sha256, bytes FROM auth.version_pictures
            WHERE id = \(id) AND version_id = \(VersionStore.id(of: version, of: appID))
            """
        ).first.map(Picture.init)
    }

    /// Adds a picture after the existing ones.
    ///
    /// - Returns: The picture's properties as JSON.
    /// - Throws: `version-not-found`, `limit-exceeded`; the errors of `AppStore.lock`.
    func add(_ picture: Picture, to version: VersionNumber, of appID: String, by author: AppAuthor) async throws
        -> String
    {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard let versionID = try await VersionStore.find(version, of: appID, transaction) else {
                throw ServiceError(.versionNotFound)
            }
            let counts = try await transaction.query(
                """
                SELECT count(*) FILTER (WHERE v.id = \(versionID)), coalesce(sum(length(p.bytes)), 0)::bigint
                FROM auth.version_pictures AS p JOIN auth.app_versions AS v ON v.id = p.version_id WHERE v.app_id = \(appID)
                """)[0]
            guard try counts.decode(0, as: Int.self) < Self.maximumPicturesPerVersion else {
                throw ServiceError(
                    .limitExceeded, "A version may have at most \(Self.maximumPicturesPerVersion) pictures.")
            }
            guard try counts.decode(1, as: Int.self) + picture.bytes.count <= Self.maximumPictureBytesPerApp else {
                throw ServiceError(
                    .limitExceeded,
                    "The pictures of an app may have at most \(Self.maximumPictureBytesPerApp) bytes in total.")
            }
            let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
            let after: String = try await transaction.query(
                """
                INSERT INTO auth.version_pictures AS p (id, version_id, position, content_type, sha256, bytes)
                SELECT \(id), \(versionID), coalesce(max(position) + 1, 0), \(picture.contentType), \(picture.sha256), \(picture.bytes)
                FROM auth.version_pictures WHERE version_id = \(versionID)
                RETURNING \(Self.jsonWithID)::text
                """)[0].decode(0)
            try await author.record("add-picture", of: appID, target: version.text, after: after, transaction)
            return after
        }
    }

    /// Returns false if the version has no such picture.
    func delete(_ id: UUID, of version: VersionNumber, of appID: String, by author: AppAuthor) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            let before: String? = try await transaction.query(
                """
                DELETE FROM auth.version_pictures AS p WHERE id = \(id) AND version_id = \(VersionStore.id(of: version, of: appID))
                RETURNING \(Self.jsonWithID)::text
                """
            ).first?.decode(0)
            guard let before else { return false }
            try await author.record("delete-picture", of: appID, target: version.text, before: before, transaction)
            return true
        }
    }

    /// Sets the order of a version's pictures.
    ///
    /// - Parameter ids: The ids of all its pictures, each once.
    /// - Returns: The version; nil if there is none.
    /// - Throws: `invalid-body` unless `ids` are exactly those of its pictures; the errors of `AppStore.lock`.
    func order(_ ids: [UUID], of version: VersionNumber, of appID: String, by author: AppAuthor) async throws -> String?
    {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard let before = try await VersionStore.read(version, of: appID, transaction) else { return nil }
            let existing: [UUID] = try await transaction.query(
                "SELECT id FROM auth.version_pictures WHERE version_id = \(VersionStore.id(of: version, of: appID))"
            ).map { try $0.decode(0) }
            guard ids.count == existing.count, Set(ids) == Set(existing) else {
                throw ServiceError(
                    .invalidBody,
                    "Expected the id of each of the version's \(existing.count) pictures once, found \(ids.count) ids.",
                    field: "pictures")
            }
            try await transaction.execute(
                "UPDATE auth.version_pictures AS p SET position = o.place FROM unnest(\(ids)) WITH ORDINALITY AS o (id, place) WHERE p.id = o.id"
            )
            let after = try await VersionStore.read(version, of: appID, transaction)
            try await author.record(
                "order-pictures", of: appID, target: version.text, before: before, after: after, transaction)
            return after
        }
    }

    /// The properties of the row `p`.
    static let json: PostgresQuery = """
        jsonb_build_object('contentType', p.content_type, 'sizeInBytes', length(p.bytes), 'sha256', p.sha256)
        """

    static let jsonWithID: PostgresQuery = "(\(json) || jsonb_build_object('id', p.id))"
}
