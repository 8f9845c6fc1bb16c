import Foundation
import MartletLogic
import Testing

@Suite struct ViewHelpersTests {
    @Test(
        "Dates, numbers and templates are shown in the user's language, and other values unchanged",
        arguments: [
            (#"{"format_date":[{"var":"start"},"EEEE d MMMM HH:mm"]}"#, "Sonntag 22 November 10:30"),
            (#"{"format_date":[{"var":"start"},"yyyy-MM-dd HH:mm","UTC"]}"#, "2026-11-22 09:30"),
            (#"{"format_date":[{"var":"end"},"yyyy-MM-dd HH:mm"]}"#, "2026-11-22 12:00"),
            (#"{"format_date":[0,"yyyy"]}"#, "1970"),
            (#"{"format_date":["soon","yyyy"]}"#, "soon"),
            (#"{"format_number":[1234.5,2]}"#, "1.234,50"),
            (#"{"format_number":[1234.56789,0,1]}"#, "1.234,6"),
            (#"{"format_number":["many"]}"#, "many"),
            (#"{"template":["{person.first} {person.last}{nobody}, {","# + #"{"var":""}]}"#, "Anna Smith, {"),
        ])
    func helpers(_ rule: String, _ text: String) throws {
        let zone = try #require(TimeZone(identifier: "Europe/Amsterdam"))
        let operations = LogicOperations.views(locale: Locale(identifier: "de_DE"), timeZone: zone)
        let data = try LogicValue(
            json: #"{"start":"2026-11-22T09:30:00Z","end":{"__type":"Date","iso":"2026-11-22T11:00:00.000Z"},"#
                + #""person":{"first":"Anna","last":"Smith"}}"#)
        #expect(try JSONLogic(LogicValue(json: rule), operations: operations).evaluate(data) == .string(text))
    }
}
