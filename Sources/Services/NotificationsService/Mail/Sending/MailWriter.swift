import Foundation
import MartletCore
import MartletMail
import MartletPostgres

/// Writes the messages for queued mail.
struct MailWriter: Sendable {
    /// Why a mail cannot be written, as shown in its record.
    struct Refusal: Error, Equatable {
        var reason: String
        var end = MailStore.End.failed
    }

    struct Written: Sendable {
        /// The language of the template; nil if the order contained the texts.
        var language: String?
        var words: MailTemplate.Filled
    }

    /// The limit for subject and bodies with their values, in bytes.
    static let maximumFilledSize = 512 << 10

    let templates: AppMailTemplateStore
    let unsubscribeLinks: UnsubscribeLinks

    /// - Parameters:
    ///   - language: The reader's preferred language.
    ///   - values: The values that every mail has.
    /// - Throws: `Refusal`; `PostgresError`.
    func write(_ content: MailContent, for language: String?, _ values: [String: String], in space: Space) async throws
        -> Written
    {
        let (words, found) = try await words(of: content, for: language, in: space)
        guard let template = try? words.template else { throw Refusal(reason: "template-broken") }
        let values = content.variables.merging(values) { $1 }
        if let missing = template.missing(Set(values.keys)).min() { throw Refusal(reason: "no value for \(missing)") }
        guard template.filledSize(values) <= Self.maximumFilledSize else { throw Refusal(reason: "too large") }
        return Written(language: found, words: template.filled(values))
    }

    private func words(of content: MailContent, for language: String?, in space: Space) async throws -> (
        MailContent.Words, String?
    ) {
        if let words = content.words { return (words, nil) }
        let chain = [content.language, language, "en"].compactMap { $0.flatMap(LanguageTag.init)?.chain }.flatMap(
            \.self)
        guard let template = try await templates.find(content.template ?? "", chain, in: space) else {
            throw Refusal(reason: "template-not-found")
        }
        return (template.words, template.language)
    }

    /// The message to one recipient.
    ///
    /// - Parameter user: The owner of the address.
    /// - Throws: As `write(_:for:_:in:)`.
    func message(
        _ content: MailContent, id: UUID, topic: String?, to address: String, user: String?, language: String?,
        app: String, _ transport: MailSenders.Transport,
        in space: Space
    ) async throws -> MailMessage {
        var values = ["app": app, "email": address]
        let link = try topic.map {
            try unsubscribeLinks.link(
                UnsubscribeToken(space: space.id, address: address, topic: $0, user: user, app: String(app.prefix(40))))
        }
        values["unsubscribe"] = link?.absoluteString
        let words = try await write(content, for: language, values, in: space).words
        var message = MailMessage(
            from: transport.from(app), to: try MailAddress(address: address), subject: words.subject, text: words.text,
            html: words.html)
        message.id = id.uuidString.lowercased()
        message.bounces = transport.bounces
        message.replyTo = try content.replyTo.map { try MailAddress(address: $0) } ?? transport.replyTo
        message.unsubscribeURL = link
        // One-click unsubscription requires https (RFC 8058 §3.1).
        message.unsubscribesWithOneClick = link?.scheme == "https"
        return message
    }
}
