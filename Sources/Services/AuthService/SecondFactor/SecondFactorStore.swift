import Crypto
import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletPostgres

/// Authenticator apps of users or staff, and recovery codes for when one is lost.
struct SecondFactorStore: Sendable {
    static let recoveryCodeCount = 10

    /// The tables that hold the factors.
    struct Tables: Sendable {
        var factors: PostgresQuery
        var recoveryCodes: PostgresQuery
        /// The column with the owner's id.
        var person: PostgresQuery
        /// The purpose under which secrets are encrypted, so that none can be moved to the other table.
        var label: String

        static let users = Tables(
            factors: "auth.second_factors", recoveryCodes: "auth.recovery_codes", person: "user_id",
            label: "second factor")
        static let staff = Tables(
            factors: "auth.staff_second_factors", recoveryCodes: "auth.staff_recovery_codes", person: "staff_id",
            label: "second factor of staff")
    }

    let postgres: PostgresClient
    let keys: ServerKeys
    let logger: Logger
    var tables = Tables.users

    /// Gives the user a new secret that is not yet required for signing in; nil if one is already active.
    func begin(of user: UUID) async throws -> [UInt8]? {
        let secret = SymmetricKey(size: .init(bitCount: OneTimePassword.secretLength * 8)).withUnsafeBytes(Array.init)
        let sealed = try keys.sealing.seal(secret, for: label(user))
        let isNew =
            try await postgres.execute(
                """
                INSERT INTO \(tables.factors) AS f (\(tables.person), sealed_secret) VALUES (\(user), \(sealed))
                ON CONFLICT (\(tables.person)) DO UPDATE SET sealed_secret = excluded.sealed_secret, created = now(), last_step = 0
                WHERE f.confirmed IS NULL
                """) > 0
        return isNew ? secret : nil
    }

    /// Activates the secret if the user presents a valid code. From then on, signing in requires one.
    ///
    /// - Parameter also: Runs in the same transaction.
    /// - Returns: The recovery codes; nil if the code is wrong or there is no secret to activate.
    func confirm(_ code: String, of user: UUID, also: (PostgresTransaction) async throws -> Void = { _ in })
        async throws -> [String]?
    {
        guard let factor = try await find(user), !factor.isConfirmed,
            let step = OneTimePassword.step(of: code, secret: factor.secret, at: Date())
        else { return nil }
        return try await postgres.withTransaction { transaction in
            let isConfirmed =
                try await transaction.execute(
                    """
                    UPDATE \(tables.factors) SET confirmed = now(), last_step = \(step)
                    WHERE \(tables.person) = \(user) AND confirmed IS NULL AND sealed_secret = \(factor.sealed) AND last_step < \(step)
                    """) > 0
            guard isConfirmed, let codes = try await renewRecoveryCodes(of: user, transaction) else { return nil }
            try await also(transaction)
            return codes
        }
    }

    /// Replaces all recovery codes with ten new ones; nil if there is no active second factor.
    ///
    /// - Parameter also: Runs in the same transaction.
    func renewRecoveryCodes(of user: UUID, also: (PostgresTransaction) async throws -> Void = { _ in }) async throws
        -> [String]?
    {
        try await postgres.withTransaction { transaction in
            guard let codes = try await renewRecoveryCodes(of: user, transaction) else { return nil }
            try await also(transaction)
            return codes
        }
    }

    private func renewRecoveryCodes(of user: UUID, _ transaction: PostgresTransaction) async throws -> [String]? {
        // Serializes concurrent calls: the second one waits here and replaces what the first has made.
        let factor = try await transaction.query(
            "SELECT FROM \(tables.factors) WHERE \(tables.person) = \(user) AND confirmed IS NOT NULL FOR UPDATE")
        guard !factor.isEmpty else { return nil }
        try await transaction.execute("DELETE FROM \(tables.recoveryCodes) WHERE \(tables.person) = \(user)")
        let codes = (0..<Self.recoveryCodeCount).map { _ in Self.makeRecoveryCode() }
        for code in codes {
            try await transaction.execute(
                "INSERT INTO \(tables.recoveryCodes) (\(tables.person), mac) VALUES (\(user), \(mac(code, of: user)))")
        }
        return codes
    }

    /// Whether signing in requires a code.
    func isAsked(of user: UUID) async throws -> Bool {
        try await !postgres.query(
            "SELECT FROM \(tables.factors) WHERE \(tables.person) = \(user) AND confirmed IS NOT NULL"
        ).isEmpty
    }

    /// Consumes a code, like `take(_:of:)`. Wrong codes count against `limit`.
    ///
    /// - Throws: `sign-in-failed` with `field`, `too-many-requests`.
    func take(
        _ code: String, of user: UUID, field: String? = nil, counting limit: AttemptStore.Limit,
        by attempts: AttemptStore
    ) async throws {
        guard try await attempts.guess(limit, { try await take(code, of: user) ? true : nil }) != nil else {
            throw Self.wrongCode(field)
        }
    }

    /// Activates the secret, like `confirm(_:of:)`. Wrong codes count against `limit`.
    ///
    /// - Throws: The errors of `take`.
    func confirm(
        _ code: String, of user: UUID, counting limit: AttemptStore.Limit, by attempts: AttemptStore,
        also: (PostgresTransaction) async throws -> Void = { _ in }
    ) async throws -> [String] {
        guard let codes = try await attempts.guess(limit, { try await confirm(code, of: user, also: also) }) else {
            throw Self.wrongCode("code")
        }
        return codes
    }

    private static func wrongCode(_ field: String?) -> ServiceError {
        ServiceError(.signInFailed, "The code is wrong or was used before.", field: field)
    }

    /// Consumes a code of the app or a recovery code; each works once.
    func take(_ code: String, of user: UUID) async throws -> Bool {
        guard code.utf8.count <= 64, let factor = try await find(user), factor.isConfirmed else { return false }
        if let step = OneTimePassword.step(of: code, secret: factor.secret, at: Date()) {
            return try await postgres.execute(
                """
                UPDATE \(tables.factors) SET last_step = \(step)
                WHERE \(tables.person) = \(user) AND confirmed IS NOT NULL AND last_step < \(step)
                """) > 0
        }
        return try await postgres.execute(
            "DELETE FROM \(tables.recoveryCodes) WHERE \(tables.person) = \(user) AND mac = \(mac(code, of: user))") > 0
    }

    /// - Parameter also: Runs in the same transaction.
    func remove(of user: UUID, also: (PostgresTransaction) async throws -> Void = { _ in }) async throws {
        try await postgres.withTransaction { transaction in
            try await transaction.execute("DELETE FROM \(tables.factors) WHERE \(tables.person) = \(user)")
            try await also(transaction)
        }
    }

    private struct Factor {
        var sealed: Data
        var secret: Data
        var isConfirmed: Bool
    }

    /// Nil if there is none, or none that the current internal secret can decrypt.
    private func find(_ user: UUID) async throws -> Factor? {
        let row = try await postgres.query(
            "SELECT sealed_secret, confirmed IS NOT NULL FROM \(tables.factors) WHERE \(tables.person) = \(user)"
        ).first
        guard let row else { return nil }
        let sealed: Data = try row.decode(0)
        guard let secret = keys.sealing.open(sealed, for: label(user)) else {
            logger.error(
                "Could not decrypt a second factor, because the internal secret has changed; its user cannot sign in until it is removed.",
                metadata: ["user.id": "\(user)"])
            return nil
        }
        return Factor(sealed: sealed, secret: secret, isConfirmed: try row.decode(1))
    }

    private func label(_ user: UUID) -> String { "\(tables.label) \(user.uuidString)" }

    /// 60 random bits, such as `7kq4-m2xa-9f3c`, in Crockford's 32 characters, which omit i, l, o and u.
    private static func makeRecoveryCode() -> String {
        let characters = Array("0123456789abcdefghjkmnpqrstvwxyz")
        let code = SymmetricKey(size: .bits128).withUnsafeBytes { bytes in
            bytes.prefix(12).map { characters[Int($0 & 31)] }
        }
        return [code[0..<4], code[4..<8], code[8..<12]].map { String($0) }.joined(separator: "-")
    }

    /// Ignores dashes, spaces and case.
    private func mac(_ code: String, of user: UUID) -> Data {
        let plain = code.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return Data(
            HMAC<SHA256>.authenticationCode(for: Data("\(user.uuidString) \(plain)".utf8), using: keys.recoveryCodes))
    }
}
