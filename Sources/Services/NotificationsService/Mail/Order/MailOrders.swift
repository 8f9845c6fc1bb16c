import Foundation
import HTTPTypes
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletMail
import MartletPostgres

/// Takes orders for mail. What is ordered in a transaction is sent when, and only when, that is committed.
struct MailOrders: Sendable {
    let postgres: PostgresClient
    let mails: MailStore
    let templates: AppMailTemplateStore
    let jobs: JobQueue
    let options: AppMailOptions

    /// That the mail can be written in each language there is: who orders hears of a value that is missing, not who
    /// reads it.
    ///
    /// - Throws: `template-not-found`; `invalid-body` naming a value that is missing.
    func check(_ content: MailContent, hasTopic: Bool, in space: Space) async throws {
        let names = content.names(hasTopic: hasTopic)
        let words = try await words(of: content, in: space)
        guard !words.isEmpty else { throw HTTPProblem(.templateNotFound) }
        for words in words {
            let template = try words.template
            if let missing = template.missing(names).min() {
                throw HTTPProblem(
                    .invalidBody, "The mail shows {{\(missing)}}, which has no value.", field: "variables.\(missing)")
            }
            guard template.filledSize(content.variables) <= MailWriter.maximumFilledSize else {
                throw HTTPProblem(
                    .invalidBody, "With its values a mail has at most \(MailWriter.maximumFilledSize) bytes.",
                    field: "variables")
            }
        }
    }

    private func words(of content: MailContent, in space: Space) async throws -> [MailContent.Words] {
        if let words = content.words { return [words] }
        return try await templates.all(content.template ?? "", in: space).map(\.words)
    }

    /// - Returns: ids of the mails, one for each recipient in their order; those of before where the origin is known.
    /// - Throws: as `check`, and as `place(_:in:_:)`.
    func place(_ order: MailOrder, in space: Space) async throws -> [UUID] {
        try await check(order.content, hasTopic: order.topic != nil, in: space)
        return try await postgres.withTransaction { try await place(order, in: space, $0) }
    }

    /// The same as part of a transaction, which must have the service's own role at this moment. Nothing is checked but
    /// the limit: what cannot be written fails when it is to be.
    ///
    /// - Throws: `too-many-requests` when the app has ordered too much in the last hour; `idempotency-key-reused`.
    func place(_ order: MailOrder, in space: Space, _ transaction: PostgresTransaction) async throws -> [UUID] {
        // Orders of a space are placed one after the other: they are counted, and none is placed twice.
        _ = try await transaction.query("SELECT FROM notifications.spaces WHERE id = \(space.id) FOR NO KEY UPDATE")
        if let origin = order.origin,
            let known = try await mails.known(origin, digest: order.originDigest, in: space, transaction)
        {
            return known
        }
        let (hour, day) = try await mails.counts(in: space, transaction)
        for (count, limit, period) in [(hour, options.mailsPerHour, "an hour"), (day, options.mailsPerDay, "a day")]
        where count + order.recipients.count > limit {
            throw HTTPProblem(
                .tooManyRequests, "The app has sent all the mail that it may in \(period): \(limit).",
                headers: [.retryAfter: "600"])
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
