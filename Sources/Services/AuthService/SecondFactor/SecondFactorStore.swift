import Crypto
import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletPostgres

/// Authenticator apps of users or staff, and recovery codes for when one is lost.
struct SecondFactorStore: Sendable {
    static let recoveryCodeCount = 10

    let postgres: PostgresClient
    let attempts: AttemptStore
    let keys: ServerKeys
    let logger: Logger
    let now: @Sendable () -> Date

    /// Gives the person a new secret that is not yet required for signing in; nil if one is already active.
    func begin(of person: Person) async throws -> [UInt8]? {
        let secret = SymmetricKey(size: .init(bitCount: OneTimePassword.secretLength * 8)).withUnsafeBytes(Array.init)
        let sealed = try keys.sealing.seal(secret, for: person.secondFactorLabel)
        let isNew =
            try await postgres.execute(
                """
                INSERT INTO \(person.factors) AS f (\(person.column), sealed_secret) VALUES (\(person.id), \(sealed))
                ON CONFLICT (\(person.column)) DO UPDATE SET sealed_secret = excluded.sealed_secret, created = now(), last_step = 0
                WHERE f.confirmed IS NULL
                """) > 0
        return isNew ? secret : nil
    }

    /// Activates the secret if the person presents a valid code. From then on, signing in requires one.
    ///
    /// - Returns: The recovery codes.
    /// - Throws: The errors of `require` if the code is wrong or there is no secret to activate.
    func confirm(_ code: String, of person: Person) async throws -> [String] {
        guard let codes = try await attempts.guess(person.codeLimit, { try await activate(code, of: person) }) else {
            throw Self.wrongCode("code")
        }
        return codes
    }

    private func activate(_ code: String, of person: Person) async throws -> [String]? {
        guard let factor = try await find(person), !factor.isConfirmed,
            let step = OneTimePassword.step(of: code, secret: factor.secret, at: now())
        else { return nil }
        return try await postgres.withTransaction { transaction in
            let isConfirmed =
                try await transaction.execute(
                    """
                    UPDATE \(person.factors) SET confirmed = now(), last_step = \(step)
                    WHERE \(person.column) = \(person.id) AND confirmed IS NULL AND sealed_secret = \(factor.sealed)
                        AND last_step < \(step)
                    """) > 0
            guard isConfirmed, let codes = try await renewRecoveryCodes(of: person, transaction) else { return nil }
            try await person.record("add-second-factor", transaction)
            return codes
        }
    }

    /// Replaces all recovery codes with ten new ones; nil if there is no active second factor.
    func renewRecoveryCodes(of person: Person) async throws -> [String]? {
        try await postgres.withTransaction { transaction in
            guard let codes = try await renewRecoveryCodes(of: person, transaction) else { return nil }
            try await person.record("renew-recovery-codes", transaction)
            return codes
        }
    }

    private func renewRecoveryCodes(of person: Person, _ transaction: PostgresTransaction) async throws -> [String]? {
        // Serializes concurrent calls: the second one waits here and replaces the codes of the first.
        let factor = try await transaction.query(
            "SELECT FROM \(person.factors) WHERE \(person.column) = \(person.id) AND confirmed IS NOT NULL FOR UPDATE")
        guard !factor.isEmpty else { return nil }
        try await transaction.execute("DELETE FROM \(person.recoveryCodes) WHERE \(person.column) = \(person.id)")
        let codes = (0..<Self.recoveryCodeCount).map { _ in Self.makeRecoveryCode() }
        for code in codes {
            try await transaction.execute(
                "INSERT INTO \(person.recoveryCodes) (\(person.column), mac) VALUES (\(person.id), \(mac(code, of: person)))"
            )
        }
        return codes
    }

    /// Whether signing in requires a code.
    func isRequired(of person: Person) async throws -> Bool {
        try await !postgres.query(
            "SELECT FROM \(person.factors) WHERE \(person.column) = \(person.id) AND confirmed IS NOT NULL"
        ).isEmpty
    }

    enum SignInCheck: Sendable {
        /// The person has no second factor, or sent a correct code.
        case passed
        /// A code is required and missing. Nothing was counted.
        case codeRequired
        case wrongCode
    }

    /// Checks the second factor of a person who signs in. Wrong codes are counted per person, whatever name they sign
    /// in with.
    ///
    /// - Throws: `too-many-requests`.
    func check(_ code: String?, of person: Person) async throws -> SignInCheck {
        guard try await isRequired(of: person) else { return .passed }
        guard let code else { return .codeRequired }
        return try await isCorrect(code, of: person) ? .passed : .wrongCode
    }

    /// Like `check`, but throws the refusal for the client.
    ///
    /// - Throws: `second-factor-required`, `sign-in-failed`, `too-many-requests`.
    func pass(_ code: String?, of person: Person) async throws {
        switch try await check(code, of: person) {
        case .passed: break
        case .codeRequired: throw ServiceError(.secondFactorRequired)
        case .wrongCode: throw Self.wrongCode(nil)
        }
    }

    /// Consumes a code of the app or a recovery code; each works once. Wrong codes are counted.
    ///
    /// - Throws: `sign-in-failed` with `field`, `too-many-requests`.
    func require(_ code: String, of person: Person, field: String) async throws {
        guard try await isCorrect(code, of: person) else { throw Self.wrongCode(field) }
    }

    private func isCorrect(_ code: String, of person: Person) async throws -> Bool {
        try await attempts.guess(person.codeLimit) { try await consume(code, of: person) ? true : nil } != nil
    }

    private static func wrongCode(_ field: String?) -> ServiceError {
        ServiceError(.signInFailed, "The code is wrong or was used before.", field: field)
    }

    /// Returns whether the code was right. Does not count wrong codes.
    func consume(_ code: String, of person: Person) async throws -> Bool {
        guard code.utf8.count <= 64, let factor = try await find(person), factor.isConfirmed else { return false }
        if let step = OneTimePassword.step(of: code, secret: factor.secret, at: now()) {
            return try await postgres.execute(
                """
                UPDATE \(person.factors) SET last_step = \(step)
                WHERE \(person.column) = \(person.id) AND confirmed IS NOT NULL AND last_step < \(step)
                """) > 0
        }
        return try await postgres.execute(
            "DELETE FROM \(person.recoveryCodes) WHERE \(person.column) = \(person.id) AND mac = \(mac(code, of: person))"
        ) > 0
    }

    func remove(of person: Person) async throws {
        try await postgres.withTransaction { transaction in
            try await transaction.execute("DELETE FROM \(person.factors) WHERE \(person.column) = \(person.id)")
            try await person.record("remove-second-factor", transaction)
        }
    }

    private struct Factor {
        var sealed: Data
        var secret: Data
        var isConfirmed: Bool
    }

    /// Nil if the person has no secret, or none that the current internal secret can decrypt.
    private func find(_ person: Person) async throws -> Factor? {
        let row = try await postgres.query(
            "SELECT sealed_secret, confirmed IS NOT NULL FROM \(person.factors) WHERE \(person.column) = \(person.id)"
        ).first
        guard let row else { return nil }
        let sealed: Data = try row.decode(0)
        guard let secret = keys.sealing.open(sealed, for: person.secondFactorLabel) else {
            logger.error(
                "Could not decrypt a second factor, because the internal secret has changed; its user cannot sign in until it is removed.",
                metadata: ["user.id": "\(person.id)"])
            return nil
        }
        return Factor(sealed: sealed, secret: secret, isConfirmed: try row.decode(1))
    }

    /// 60 random bits, such as `7kq4-m2xa-9f3c`, in Crockford's 32 characters, which omit i, l, o and u.
    private static func makeRecoveryCode() -> String {
        let characters = Array("0123456789abcdefghjkmnpqrstvwxyz")
        let code = SymmetricKey(size: .bits128).withUnsafeBytes { bytes in
            bytes.prefix(12).map { characters[Int($0 & 31)] }
        }
        return [code[0..<4], code[4..<8], code[8..<12]].map { String($0) }.joined(separator: "-")
    }

    /// Ignores dashes, spaces and case.
    private func mac(_ code: String, of person: Person) -> Data {
        let plain = code.lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return Data(
            HMAC<SHA256>.authenticationCode(
                for: Data("\(person.id.uuidString) \(plain)".utf8), using: keys.recoveryCodes))
    }
}

extension Person {
    fileprivate var factors: PostgresQuery { isStaff ? "auth.staff_second_factors" : "auth.second_factors" }

    fileprivate var recoveryCodes: PostgresQuery { isStaff ? "auth.staff_recovery_codes" : "auth.recovery_codes" }

    /// The column of both tables with the person's id.
    fileprivate var column: PostgresQuery { isStaff ? "staff_id" : "user_id" }

    /// The purpose under which the secret is encrypted, so that none can be moved to the other table.
    fileprivate var secondFactorLabel: String {
        "second factor\(isStaff ? " of staff" : "") \(id.uuidString)"
    }

    fileprivate var codeLimit: AttemptStore.Limit {
        switch self {
        case .user(let id, let space): .code(of: id, in: space)
        case .staff(let id, _, _): .staffCode(of: id)
        }
    }
}
