import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletJobs
import MartletMail
import MartletPostgres

/// Places orders for mail. An order placed in a transaction is sent if, and only if, the transaction commits.
struct MailOrders: Sendable {
    let postgres: PostgresClient
    let mails: MailStore
    let templates: AppMailTemplateStore
    let jobs: JobQueue
    let options: AppMailOptions

    /// Checks that the mail can be written in every language of the template, so that the sender learns of a missing
    /// value, not the reader.
    ///
    /// - Throws: `template-not-found`; `invalid-body` that names a missing value.
    func check(_ content: MailContent, hasTopic: Bool, in space: Space) async throws {
        let names = content.names(hasTopic: hasTopic)
        let words = try await words(of: content, in: space)
        guard !words.isEmpty else { throw ServiceError(.templateNotFound) }
        for words in words {
            let template = try words.template
            if let missing = template.missing(names).min() {
                throw ServiceError(
                    .invalidBody, "The mail uses {{\(missing)}}, which has no value.", field: "variables.\(missing)")
            }
            guard template.filledSize(content.variables) <= MailWriter.maximumFilledSize else {
                throw ServiceError(
                    .invalidBody, "The mail with its values may have at most \(MailWriter.maximumFilledSize) bytes.",
                    field: "variables")
            }
        }
    }

    private func words(of content: MailContent, in space: Space) async throws -> [MailContent.Words] {
        if let words = content.words { return [words] }
        return try await templates.all(content.template ?? "", in: space).map(\.words)
    }

    /// - Returns: The ids of the mails, one per recipient in their order. A known origin returns the earlier mails.
    /// - Throws: As `check` and `place(_:in:_:)`.
    func place(_ order: MailOrder, in space: Space) async throws -> [UUID] {
        try await check(order.content, hasTopic: order.topic != nil, in: space)
        return try await postgres.withTransaction { try await place(order, in: space, $0) }
    }

    /// Places an order in a transaction, which must currently use the service's own role. Checks only the limits; mail
    /// that cannot be written fails later.
    ///
    /// - Throws: `too-many-requests` when the app exceeds its limit per hour or day; `idempotency-key-reused`.
    func place(_ order: MailOrder, in space: Space, _ transaction: PostgresTransaction) async throws -> [UUID] {
        // The lock serializes the orders of a space, so that they are counted correctly and none is placed twice.
        _ = try await transaction.query("SELECT FROM notifications.spaces WHERE id = \(space.id) FOR NO KEY UPDATE")
        if let origin = order.origin,
            let known = try await mails.known(origin, digest: order.originDigest, in: space, transaction)
        {
            return known
        }
        let (hour, day) = try await mails.counts(in: space, transaction)
        for (count, limit, period) in [(hour, options.mailsPerHour, "an hour"), (day, options.mailsPerDay, "a day")]
        where count + order.recipients.count > limit {
            throw ServiceError(
                .tooManyRequests, "The request would exceed the app's limit of \(limit) mails \(period).",
                retryAfter: 600)
        }
        var ids: [UUID] = []
        for (number, recipient) in order.recipients.enumerated() {
            ids.append(try await mails.insert(order, to: recipient, number: number, in: space, transaction))
        }
        try await jobs.enqueue(
            SendAppMail.self, .init(space: space.id), SendAppMail.options(of: space.id), in: transaction)
        return ids
    }
}
