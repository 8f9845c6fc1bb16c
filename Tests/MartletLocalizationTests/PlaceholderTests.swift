import MartletLocalization
import Testing

@Suite("Placeholders")
struct PlaceholderTests {
    @Test(
        "are found where formatting would find them",
        arguments: [
            ("Hello", []), ("%@ and %lld", ["%@", "%lld"]), ("%1$@ %2$.2f", ["%1$@", "%2$.2f"]),
            ("100 % done, 5% off", []), ("100%", []), ("%%d", []),
            ("%#@dogs@ in %2$#@yards@", ["%#@dogs@", "%2$#@yards@"]), ("%arg dogs", ["%arg"]),
            ("%-08.3f|%+d|%hhx", ["%-08.3f", "%+d", "%hhx"]),
            ("%e\u{301}", ["%e"]), ("%#@broken", []), ("%", []), ("%100$@", []),
        ] as [(String, [String])])
    func found(text: String, placeholders: [String]) {
        #expect(Segment.placeholders(of: text).map(\.text) == placeholders)
    }

    @Test(
        "in braces have names or numbers; quotes make braces text",
        arguments: [("{0} of {name}", ["{0}", "{name}"]), ("'{0}' it''s {1}", ["{1}"]), ("{not one}, {", [])]
            as [(String, [String])])
    func braces(text: String, placeholders: [String]) {
        let found = Segment.segmentsWithBraces(of: text).compactMap {
            if case .placeholder(let placeholder) = $0 { placeholder.text } else { nil }
        }
        #expect(found == placeholders)
    }

    @Test(
        "are converted to another platform only where the meaning is the same",
        arguments: [
            (PlaceholderStyle.android, "Hello %@", "Hello %s"), (.android, "%@ has %lld", "%1$s has %2$d"),
            (.android, "%2$@ %1$ld", "%2$s %1$d"),
            (.android, "100%% of %.1f", "100%% of %.1f"), (.android, "%lu", nil), (.android, "%g", nil),
            (.android, "%#@dogs@", nil), (.android, "%1$@", "%1$s"),
            (.braces, "%@ has %lld", "{0} has {1}"), (.braces, "it's {x} %%", "it''s '{'x'}' %"),
            (.braces, "%.2f", nil), (.apple, "%lu", "%lu"),
        ] as [(PlaceholderStyle, String, String?)])
    func written(style: PlaceholderStyle, text: String, expected: String?) {
        #expect(style.text(of: text) == expected)
    }

    @Test(
        "are converted back from another platform",
        arguments: [
            (PlaceholderStyle.android, "Hello %s", "Hello %@"), (.android, "%1$s has %2$d", "%1$@ has %2$lld"),
            (.android, "%,d", nil), (.android, "%5s", nil),
            (.braces, "{0} has {1}, 100%", "%1$@ has %2$@, 100%%"), (.braces, "{name}", nil),
            (.braces, "it''s '{'x'}'", "it's {x}"),
        ] as [(PlaceholderStyle, String, String?)])
    func read(style: PlaceholderStyle, text: String, expected: String?) {
        #expect(style.reading(text) == expected)
    }

    @Test(
        "stay unchanged in the pseudo-locale, as do tags and names in braces",
        arguments: [
            ("Hello, %@!", "[Ĥéļļö, %@! one]"),
            ("%lld {items} in <b>cart</b>", "[%lld {items} îñ <b>çåŕţ</b> one two]"), ("", ""), ("OK", "[ÖĶ one]"),
            ("100%%", "[100%% one]"),
        ])
    func pseudo(text: String, expected: String) {
        #expect(PseudoLocale.text(text) == expected)
    }
}
