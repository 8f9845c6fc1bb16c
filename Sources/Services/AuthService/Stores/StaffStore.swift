public import MartletCore
public import MartletPostgres

/// The people who run the server.
public struct StaffStore: Sendable {
    let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Makes a staff member, or returns false when the name is taken.
    ///
    /// - Parameter userName: 1 to 100 of `a-z 0-9 . _ @ -`, a letter or digit first.
    public func create(userName: String, password: Secret, isAdministrator: Bool) async throws -> Bool {
        let hash = try PasswordHash.make(of: password)
        return try await postgres.execute(
            """
            INSERT INTO auth.staff (user_name, password, is_administrator)
            VALUES (\(userName), \(hash), \(isAdministrator)) ON CONFLICT (user_name) DO NOTHING
            """) > 0
    }
}
