import Foundation
import MartletCore
import MartletPostgres
import MartletSentry

/// What the digest needs from the service's other parts.
struct CrashHelpers: Sendable {
    /// A report whose addresses are resolved to lines, as far as debug symbols are available.
    struct Symbolicated: Sendable {
        var report: JSONValue
        /// Debug ids of the missing symbols.
        var awaited: [String] = []
    }

    var symbolicate: @Sendable (_ report: JSONValue, Space) async -> Symbolicated = { report, _ in
        Symbolicated(report: report)
    }
    /// Records which symbols reports wait for, in the transaction that stores the reports.
    var record: @Sendable ([AwaitedSymbols.Report], PostgresTransaction) async throws -> Void = { _, _ in }
    /// Turns a user's feedback into a ticket; idempotent. Returns false if the feedback will never become a ticket.
    /// Throws if the call should be retried.
    var feedback: @Sendable (DigestedFeedback, Space) async throws -> Bool = { _, _ in true }
    /// Links reports to feedback that arrived before them, in the transaction that stores the reports.
    var linkFeedback: @Sendable (_ eventIDs: [UUID], Space, PostgresTransaction) async throws -> Void = { _, _, _ in }
}
