/// What a mail server says beside its three digits (RFC 3463), as in `550 5.1.1 No such user`.
struct EnhancedStatus: Equatable {
    let kind: Int
    let subject: Int
    let detail: Int

    /// Nil: the line has none.
    init?(_ line: some Collection<UInt8>) {
        let words = String(decoding: line, as: UTF8.self).split(maxSplits: 2) { $0 == " " || $0 == "-" }
        guard words.count >= 2, words[0].count == 3 else { return nil }
        let parts = words[1].prefix { !$0.isNewline }.split(separator: ".", omittingEmptySubsequences: false).map {
            Int($0)
        }
        guard parts.count == 3, let kind = parts[0], let subject = parts[1], let detail = parts[2] else { return nil }
        (self.kind, self.subject, self.detail) = (kind, subject, detail)
    }

    /// A mailbox or a host that does not exist, an address that cannot be, one that has moved, a host that takes no
    /// mail (RFC 7505), a mailbox that is closed. Not: 550 alone, or 5.7.1: servers say that of senders they do not
    /// like, and of mail they will not pass on, too.
    var meansNoMailbox: Bool {
        switch (kind, subject, detail) {
        case (5, 1, 1...3), (5, 1, 6), (5, 1, 10), (5, 2, 1): true
        default: false
        }
    }
}
