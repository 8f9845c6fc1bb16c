import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The mail that an action orders.
struct MailAction: Sendable {
    /// The ids of users in the auth service; each gets a separate mail.
    var users: [String]
    var content: MailContent
    var topic: String?
}

extension RuleActionBuilder {
    /// The mail of an action; nil if there is no recipient. Ids that are not valid user ids are skipped.
    ///
    /// - Throws: `RuleFailure`; `ServiceError` when the mail could not be written.
    func mail(of action: RuleAction, _ facts: Facts, _ lookUp: RecipientLookUp, in space: Space) async throws
        -> MailAction?
    {
        guard let wanted = action.rule.mail else { return nil }
        let named =
            if let own = wanted.recipients { try await lookUp.recipients(own, facts).users } else {
                action.recipients.users
            }
        var known: Set<String> = []
        let users = named.compactMap { UUID(uuidString: $0)?.uuidString.lowercased() }.filter {
            known.insert($0).inserted
        }
        guard !users.isEmpty else { return nil }
        guard users.count <= RuleMail.maximumUsers else {
            throw RuleFailure("More than \(RuleMail.maximumUsers) users would get mail.")
        }
        var content = wanted.content
        // Drop empty values, so that sections for them are left out.
        content.variables = try content.variables.mapValues { try FilledText.fill($0, facts) }.filter {
            !$0.value.isEmpty
        }
        try await mail.orders.check(content, hasTopic: wanted.topic != nil, in: space)
        return MailAction(users: users, content: content, topic: wanted.topic)
    }
}

extension RuleActionPerformer {
    /// Queues the mail of an action. If it would exceed the app's mail limit, none of it is queued.
    ///
    /// - Returns: The ids of the mails, or why there are none.
    func order(_ action: RuleAction, in space: Space, _ transaction: PostgresTransaction) async throws -> (
        mails: [UUID], refusal: String?
    ) {
        guard let mail = action.mail else { return ([], nil) }
        try await transaction.execute("SAVEPOINT mail")
        do {
            var mails: [UUID] = []
            for (number, start) in stride(from: 0, to: mail.users.count, by: MailOrder.maximumRecipients).enumerated() {
                let users = mail.users[start..<min(start + MailOrder.maximumRecipients, mail.users.count)]
                let order = MailOrder(
                    to: users.map(MailRecipient.user), mail.content, topic: mail.topic,
                    author: Author(text: "rule:\(action.rule.name)"),
                    origin: "rule:\(action.rule.name):\(action.cause):mail:\(number)")
                mails += try await orders.place(order, in: space, transaction)
            }
            try await transaction.execute("RELEASE SAVEPOINT mail")
            return (mails, nil)
        } catch let problem as ServiceError where problem.code == .tooManyRequests {
            try await transaction.execute("ROLLBACK TO SAVEPOINT mail")
            return ([], "The mail was not queued: \(problem.detail ?? problem.code.title)")
        }
    }
}
