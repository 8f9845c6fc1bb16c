import MartletAPI
import MartletCore
import MartletMail

extension MailTemplate {
    /// The maximum size of each body in bytes.
    static let maximumBodySize = 24 << 10

    /// A template for one kind of mail.
    ///
    /// - Throws: `invalid-body` with the field.
    init(_ kind: MailKind, subject: String, text: String, html: String?) throws {
        try self.init(
            subject: subject, text: text, html: html, names: kind.values, maximumBodySize: Self.maximumBodySize)
        // The mail must be usable even if the app has no link.
        guard kind.hasProof else { return }
        for (part, field) in [(self.text, "text"), (self.html, "html")]
        where part?.filled(["code": "\u{1}"]).contains("\u{1}") == false {
            throw ServiceError(.invalidBody, "The mail must contain {{code}} outside of {{#link}}.", field: field)
        }
    }
}
