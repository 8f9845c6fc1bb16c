import Testing

@testable import MartletMail

struct EnhancedStatusTests {
    @Test(arguments: [
        ("550 5.1.1 No such user\r\n", true),
        ("550-5.1.1 The email account that you tried to reach does not exist.\r\n", true), ("550 5.1.1\r\n", true),
        ("554 5.1.2 Domain not found", true), ("556 5.1.10 Recipient address has null MX", true),
        ("550 5.2.1 The email account is disabled", true),
        ("550 5.7.1 Relaying denied", false), ("550 5.7.26 not authenticated", false),
        ("552 5.2.2 mailbox full", false), ("450 4.1.1 try later", false),
        ("550 5.1.7 your address", false), ("550 No such user", false), ("550", false), ("", false), ("550 5.1", false),
        ("550 5..1 x", false), ("550 5.1.1.1 x", false),
    ])
    func `Only a status that clearly means an unknown mailbox counts as one`(line: String, meansNoMailbox: Bool) {
        #expect((EnhancedStatus(Array(line.utf8))?.meansNoMailbox == true) == meansNoMailbox)
    }
}
