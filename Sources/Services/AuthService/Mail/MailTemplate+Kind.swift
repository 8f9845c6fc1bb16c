import MartletAPI
import MartletHTTP
import MartletMail

extension MailTemplate {
    /// Bytes, of each body.
    static let maximumBodySize = 24 << 10

    /// The template of one kind of mail.
    ///
    /// - Throws: `invalid-body` naming the field.
    init(_ kind: MailKind, subject: String, text: String, html: String?) throws {
        try self.init(
            subject: subject, text: text, html: html, names: kind.values, maximumBodySize: Self.maximumBodySize)
        // Whoever reads it must be able to do what it is for, also where the app has no link.
        guard kind.hasProof else { return }
        for (part, field) in [(self.text, "text"), (self.html, "html")]
        where part?.filled(["code": "\u{1}"]).contains("\u{1}") == false {
            throw HTTPProblem(.invalidBody, "The mail must have {{code}} in it, outside of {{#link}}.", field: field)
        }
    }
}
