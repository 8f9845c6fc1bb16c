import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

/// What the digest asks of the service's other parts.
struct CrashHelpers: Sendable {
    /// A report with its addresses turned into lines, as far as there are debug symbols.
    struct Symbolicated: Sendable {
        var report: JSONValue
        /// The debug ids that it waits for.
        var awaited: [String] = []
    }

    var symbolicate: @Sendable (_ report: JSONValue, Space) async -> Symbolicated = { report, _ in Symbolicated(report: report) }
    /// Notes which symbols reports wait for, in the transaction that stores them.
    var note: @Sendable ([AwaitedSymbols.Report], PostgresTransaction) async throws -> Void = { _, _ in }
    /// Makes a ticket of what a person wrote; harmless to repeat. False: there will be none. An error means "again".
    var feedback: @Sendable (DigestedFeedback, Space) async throws -> Bool = { _, _ in true }
    /// Joins reports with what somebody said of them before they came, in the transaction that stores them.
    var joinFeedback: @Sendable (_ eventIDs: [UUID], Space, PostgresTransaction) async throws -> Void = { _, _, _ in }
}
