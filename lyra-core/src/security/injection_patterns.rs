//! Patterns of instructions to a model: names and regular expressions.
//!
//! Matched against lower-case text with single blanks (see [`super::injection`]). `\b`, `\w` and
//! `\W` mean ASCII here, so words in other alphabets use explicit classes. Patterns with the same
//! name are adjacent. Most patterns require two signs at once, such as a verb of overriding and a
//! word for earlier text: a single sign also occurs in manuals and in papers about models.

/// Patterns that may occur anywhere, in languages that can be written in ASCII alone, English
/// first.
pub(super) const PATTERNS: &[(&str, &str)] = &[
    // Ignore earlier text: the word for "earlier" comes before the noun …
    (
        "override_instructions",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|overwrite|bypass|neglect|discard|abandon|overrule|set aside|put aside|pay no attention to|take no notice of|(?:do not|don'?t|never|stop) (?:follow|obey|listen to)(?:ing)?)\b(?:\W+\w+){0,4}?\W+(?:all|any|every|previous|previously|prior|earlier|preceding|foregoing|former|above|initial|original|your|these|those|system|developer'?s?|operator'?s?|openai'?s?)\b(?:\W+\w+){0,4}?\W+(?:instructions?|prompts?|guidelines|directions|directives|commands|programming)\b",
    ),
    // … if the noun is also used in science and law, only as a command or addressed to somebody …
    (
        "override_instructions",
        r"(?:^|[.!?:;,\x22\])>-] ?|\b(?:please|now|must|should|you|then) )(?:ignore|disregard|forget|override|bypass|discard|abandon|set aside|pay no attention to|do not (?:follow|obey)|don'?t (?:follow|obey)|stop (?:following|obeying))\b(?: \w+){0,3}? (?:all|any|previous|prior|earlier|preceding|above|initial|original|your|these|system|safety|content|ethical|developer'?s?|operator'?s?|openai'?s?)\b(?: \w+){0,4}? (?:rules|restrictions|policies|constraints|safeguards|guidance|orders|protocols?|filters?|limitations)\b",
    ),
    (
        "override_instructions",
        r"(?:^|[.!?:;\x22\])>-] ?|\b(?:please|now) )(?:override|bypass|disable|deactivate|turn off|switch off|ignore|disregard) (?:all |any |the |your )?(?:safety|ethical|content|security|moderation)\b(?: (?:guidelines|protocols?|policies|filters?|restrictions|rules|measures|instructions?|features))?\b|(?:^|[.!?:;\x22\])>-] ?)(?:please )?(?:ignore|disregard|forget|abandon) (?:the |your |this |all )?(?:(?:\w+ ){0,2}task\b|instructions? ?[.,;!])",
    ),
    (
        "override_instructions",
        r"\b(?:forget|disregard|ignore) everything\b|\b(?:safety|content|ethical) (?:restrictions|filters|guidelines|protocols) (?:are|have been|are now) (?:disabled|deactivated|suspended|switched off|turned off)\b|\b(?:disable|deactivate)d? (?:your |all )?(?:safety|content|ethical) (?:protocols?|filters?|guidelines)\b|\bsupersedes? all (?:prior|previous|other|earlier) (?:instructions?|directives?|prompts?)\b",
    ),
    // … or after it.
    (
        "override_instructions",
        r"\b(?:ignore|disregard|forget|override|discard|set aside|pay no attention to|take no notice of|(?:do not|don'?t) (?:follow|obey))\b(?:\W+\w+){0,3}?\W+(?:instructions?|prompts?|rules|guidelines|guidance|directives|commands|orders|messages?)\b(?:\W+\w+){0,2}?\W+(?:above|before|earlier|previously|so far|(?:that )?(?:you|your|i)\b)",
    ),
    (
        "override_instructions",
        r"\b(?:ignore|disregard|forget) (?:about )?(?:everything|anything|(?:all (?:of )?)?the above|all (?:previous|prior|above)(?: (?:text|content|input|messages?|conversations?|context)\b| ?[.,;:!]| and\b)|(?:all )?above\b|what (?:you|i)\b|(?:all |any )?(?:the )?(?:text|content|words?) (?:before|above))",
    ),
    (
        "override_instructions",
        r"\bignor(?:e|ing) (?:what |whatever )?(?:the |your |this )?(?:users?|operators?|developers?)(?:'s?)?\b|\byour (?:previous|prior|earlier|former|old|original|current|initial) (?:instructions?|orders|prompts?|directives?|commands|rules|guidance)\b(?:\W+\w+){0,3}?\W+(?:cancell?ed|void|revoked|suspended|withdrawn|obsolete|invalid|replaced|superseded|over|longer)\b",
    ),
    (
        "override_instructions",
        r"\b(?:earlier|previous|prior|above|preceding) (?:instructions?|guidance|prompts?|directives?|commands)\b(?:\W+\w+){0,2}?\W+(?:void|null|suspended|deprecated|not apply|no longer apply)\b",
    ),
    (
        "new_instructions",
        r"\b(?:here (?:are|is)|these are) (?:your|the|my) (?:new )?(?:instructions?|tasks?|orders|rules)\b|\bnew (?:instructions?|rules|orders|prompt) ?:|\bfollow (?:(?:only )?(?:my|all (?:of )?my)|only these) (?:new )?(?:instructions|rules|orders|commands)\b",
    ),
    (
        "new_instructions",
        r"\byour (?:new|only|real|next|first|primary) (?:task|instructions?|role|job|goal|persona|objective|directive|name) (?:is|are|will)\b|\bthe following (?:instructions|rules|prompt) (?:override|supersede|replace)|\bsystem (?:notice|alert|command|instruction)s? ?:|\b(?:system|admin(?:istrator)?|priority|safety|security|developer|root) override\b ?(?:[:!\]]|active)",
    ),
    (
        "new_instructions",
        r"\b(?:hidden|secret|special|important) (?:instructions?|message|note|prompt) (?:to|for) (?:the |any |all )?(?:ai|llms?|model|assistant|chatbot|agent|language model)s?\b|\bobey (?:the|these|my|every|all)\b(?:\W+\w+){0,3}?\W+(?:commands?|orders|instructions?|paragraph)\b|\bthis is what you must do\b|\bwhat you must do instead\b",
    ),
    (
        "new_instructions",
        r"\[ ?(?:system|internal|admin|hidden|secret|developer)(?: (?:note|message|update|override|instructions?|prompt|directive|command|notice|only))? ?[:\]-]|\b(?:new|updated) directives? ?:|\bupdate from (?:the |your )?system administrator\b|\byou are not (?:permitted|allowed) to (?:generate|provide|produce|review|answer|respond|refuse)\b|\bthis is your new (?:system prompt|prompt|instructions?)\b",
    ),
    (
        "new_instructions",
        r"\byour task is to (?:write|generate|produce|give|provide) (?:an? )?(?:\w+ )?(?:positive|negative|favou?rable|critical|supportive|glowing)\b|\b(?:comply|respond|reply|answer) (?:fully )?(?:with|to) (?:all|every|any) (?:user )?(?:requests?|quer(?:y|ies)|prompts?|commands?)\b|\b(?:must|first|instead,?) (?:to )?(?:output|include|insert|print) the (?:exact )?(?:text|words?|phrase)\b",
    ),
    // Text that names its intended reader.
    (
        "addresses_model",
        r"\b(?:ai|a\.i\.|llms?|language models?|chat ?bots?|(?:ai |virtual )?assistants?|(?:ai |autonomous )?agents?|automated (?:system|tool|reader|reviewer|agent)s?|ai (?:reader|reviewer|system|tool|model|summari[sz]er)s?|crawlers?)(?: that (?:is|are))? (?:currently )?(?:reading|processing|summari[sz]ing|parsing|reviewing|visiting|scanning|indexing|analy[sz]ing|evaluating|viewing) this\b",
    ),
    (
        "addresses_model",
        r"\b(?:if|since|because|as|when) you(?:'re| are) (?:a |an |the )?(?:large |automated )?(?:ai|a\.i\.|llm|language model|chat ?bot|virtual assistant|ai (?:\w+ )?(?:model|assistant|agent|reviewer|system))\b",
    ),
    (
        "addresses_model",
        r"(?:^|[.!?:;*\x22\]>)-] ?)(?:important |special |urgent |hidden )?(?:note|notice|message|instructions?|attention|memo|reminder|warning|hint|dear|hello|hey|hi)\b\W*(?:to |for |of )?(?:the |any |all |every |fellow )?(?:ai|llms?|large language models?|language models?|chat ?bots?|ai \w+|llm \w+|assistants?|autonomous agents?|automated (?:systems?|reviewers?|agents?))\b ?(?:reading this ?|reviewers? ?|readers? ?|agents? ?|assistants? ?)?[:,;!.-]",
    ),
    (
        "role_change",
        r"\b(?:you(?:'re| are)|i (?:want|need|would like) you|you (?:will|must|should|shall)(?: now)?) (?:(?:going|about) )?(?:to )?(?:act|pretend|role-? ?play|play the|simulate|impersonate|immerse|respond (?:only )?as|answer (?:only )?as|behave (?:as|like))\b",
    ),
    (
        "role_change",
        r"\byou are (?:now |no longer |not |from now on )+(?:(?:an?|the|my|just an?|called|named|known as) (?:\w+\W+){0,3}?(?:ai|assistant|chat ?bot|bot|language model|model|llm|gpt|chatgpt|persona|character|terminal|hacker|expert|version|dan|interpreter|simulator|developer|girlfriend|friend|cat|person|human|agent)\b|(?:in|entering) \w+(?: \w+)? mode\b|free (?:of|from)\b|dan\b|bound by|restricted by|going to|acting|playing|operating|\w*gpt\b|\w+bot\b|unfiltered|unrestricted|jailbroken|evil)",
    ),
    (
        "role_change",
        r"\bpretend (?:to be|you ?(?:are|'re)|that you|like you|as if)|\broleplay as\b|\bimagine (?:that )?you are\b|\byou (?:will|'ll|shall|must)(?: now)?(?: only)? (?:reply|respond|answer|speak)\b",
    ),
    (
        "role_change",
        r"\bfrom (?:now|here|this (?:point|moment)) (?:on|onwards?|forward|forth)\b\W+(?:\w+\W+){0,2}?(?:you|your|you're|you'll|respond|answer|reply|act|pretend|ignore|call yourself|speak|chatgpt|i want|i will|i am)\b|\bfrom now on ?[:!]?$",
    ),
    (
        "role_change",
        r"\bact as (?:if\b|though\b|my\b|an? (?:\w+ ){0,3}(?:ai|chatbot|assistant|bot|interpreter|terminal|console|expert|dan)\b)|\bact (?:like|as) a (?:\w+ ){0,2}(?:cat|game|dungeon|human|person|character)\b",
    ),
    (
        "role_change",
        r"\bstay(?:ing)? in (?:\w+ mode|character)\b|\bbreak(?:ing)? (?:out of )?character\b|\brespond as (?:both|if|the character)\b|\bthe (?:ai|bot|assistant|chatbot) will (?:never|always|do|convince|hide|show|reply|respond|answer)\b",
    ),
    (
        "prompt_leak",
        r"\b(?:reveal|show|print|repeat|output|display|leak|disclose|tell me|give me|write (?:out|down)|list|print out|what (?:is|are|was|were)|return|spell ?-?check|summari[sz]e|translate)\b(?:\W+\w+){0,4}?\W+(?:(?:system|initials?|hidden|original|secret|previous|above|pre)[ -](?:prompts?|instructions?|messages?|directives?)|your (?:\w+ )?(?:prompt|instructions?|rules|guidelines|directives?|programming))\b",
    ),
    (
        "prompt_leak",
        r"\b(?:reveal|show|print|repeat|output|display|leak|disclose|recite|copy|quote)\b(?:\W+\w+){0,3}?\W+(?:text|words|everything|content|message|lines?|paragraph|sentence)s? (?:above|before|preceding) (?:this|here|verbatim|word)|\b(?:prompt|instructions?|message|text) (?:that )?you (?:were|have been|got|received)\b(?:\W+\w+){0,3}?\W+(?:start|beginning|conversation|session|chat)\b",
    ),
    (
        "prompt_leak",
        r"\b(?:output|display|show|reveal|print|repeat|leak|list|access to|from|ignore|confirm|share)(?:ing)?\b(?:\W+\w+){0,3}?\W+your (?:\w+ )?(?:system|hidden|initial|original) (?:prompt|instructions?|message)\b|\b(?:output|display|print|reveal) (?:me )?your (?:full |entire |complete |current )(?:configuration|prompt|instructions?|context|memory)\b|\b(?:to you|you have|you received|you were given)\b[^.]{0,40}\bin (?:this|our) (?:conversation|chat)\b",
    ),
    (
        "jailbreak",
        r"\bdo anything now\b|\bjail ?-?broken (?:ai|mode|model|version|chatbot|assistant)\b|\bjail ?-?break (?:mode|prompt:|yourself|chatgpt)\b|\b(?:enter|enable|activate|switch (?:in)?to|turn on|in|with|simulate|as|chatgpt(?: with)?) (?:the )?(?:developer|jailbreak|god|dan|debug|unrestricted) mode\b(?:\W+\w+){0,8}?\W*(?:enabled|output|policy|policies|restrictions|rules|filters?|guidelines|apply|you\b)",
    ),
    (
        "jailbreak",
        r"\b(?:unfiltered|uncensored|amoral|unrestricted) (?:and \w+ )?(?:\w+ )?(?:ai|chatbot|assistant|bot|response|answer|model|version|mode)\b|\bopen ?ai(?:'s)? (?:content |usage |use )?(?:polic(?:y|ies)|guidelines|restrictions|rules)\b|^(?:\W*please )?enter developer mode\b",
    ),
    (
        "jailbreak",
        r"\b(?:no|without|free (?:of|from)|broken? free) (?:of )?(?:any |all |the )?(?:\w+ (?:or|and) )?(?:moral|ethical|content|typical) (?:\w+ )?(?:restrictions?|limits|limitations?|confines|boundaries|filters?|guidelines|constraints|policy|policies|principles)\b",
    ),
    (
        "jailbreak",
        r"\b(?:ai|model|assistant|bot|chatbot|you|dan|\w+bot|\w+gpt)\b(?: (?:have|has|with|that has|are|is|who has|without))+ (?:no|any|absolutely no|without|free (?:of|from)(?: all| any)?) (?:\w+ )?(?:restrictions?|rules|filters?|guidelines|limits|limitations|constraints|censorship|safeguards)\b",
    ),
    (
        "jailbreak",
        r"\bas an ai(?: language model)?,? (?:i|you)\b|\b(?:hi|hello|hey|dear)\W+(?:chat ?-?gpt|gpt|bard|claude|bing|sydney|chat ?bot|assistant|ai)\b|\b(?:never|not|cannot|can't) (?:\w+ ){0,2}(?:refuse|decline|reject)\b(?:\W+\w+){0,6}?\W+(?:request|question|answer|prompt|order|task)",
    ),
    (
        "chat_markup",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|begin_of_text|start_header_id|eot_id)\|>|\[/?inst\]|<</?sys>>|</?(?:system|assistant|start_of_turn|end_of_turn|system_prompt|human_turn)>|\[(?:insert (?:your )?)?(?:your )?(?:prompt|question|query)(?: here)?\]|\{\{? ?(?:prompt|query|question) ?\}?\}",
    ),
    (
        "answer_steering",
        r"\b(?:in|to|of|for|with|throughout|modify|enhance|encode|translate|reverse|provide|render|deliver|express|format|convert|give|begin|start|end|finish|conclude|write|craft|present|include|append|add|send|limit|base) (?:\w+ ){0,2}?your (?:next |final |entire |whole |first )?(?:response|answer|reply|replies|responses|answers|output)(?:'s)?\b",
    ),
    (
        "answer_steering",
        r"\b(?:only|always) (?:reply|answer) (?:with|in|as)\b|\b(?:only|always) respond with \W|\b(?:reply|respond|answer) (?:only|just) (?:with|in|as|by)\b|\breply using\b|\banswer \W(?:yes|no)\W to (?:everything|all|every)\b",
    ),
    (
        "answer_steering",
        r"\b(?:give|rate|rank|score|grade|recommend|accept|assign|award) (?:this|the present|our) (?:\w+ )?(?:paper|manuscript|submission|candidate|applicant|resume|product|article|page|site|work|review|essay|study|website|company|application)\b(?:\W+\w+){0,4}?\W+(?:highest|best|top|first|maximum|perfect|full marks|strong accept|above all|10/10|five stars|5 stars)\b",
    ),
    (
        "answer_steering",
        r"\bdo(?: not|n'?t) (?:mention|highlight|point out|list|report|discuss|include|raise) (?:any |its |the |their )?(?:weakness(?:es)?|negatives?|limitations|flaws|drawbacks|criticisms?)\b|\bpositive (?:reviews?|ratings?|assessments?|evaluations?) only\b|\b(?:give|write|output) (?:only|nothing but) (?:a |an )?(?:positive|favou?rable) (?:reviews?|ratings?|assessments?)\b|\btreat (?:all|any|every)\b(?:\W+\w+){0,5}?\W+as (?:false|true|fake|untrue)\b",
    ),
    // Code to be inserted into an answer, or into what a model is working on. Instructions to
    // people insert it into pages, files and projects.
    (
        "answer_steering",
        r"\b(?:following|subsequent|below|ensuing) (?:python )?code (?:snippet|block|excerpt|section|segment|fragment)\b(?:\W+\w+){0,12}?\W+your (?:\w+ )?(?:response|reply|answer|output|elucidation|explanation|clarification|algorithm|implementation|solution|code ?base)\b",
    ),
    (
        "answer_steering",
        r"\byour (?:\w+ )?(?:response|reply|answer|output|elucidation|explanation|clarification|algorithm|implementation|solution|code ?base)\b(?:\W+\w+){0,12}?\W+(?:following|subsequent|below|ensuing) (?:python )?code (?:snippet|block|excerpt|section|segment|fragment)\b",
    ),
    (
        "answer_steering",
        r"\b(?:subsequent|below|ensuing) code (?:snippet|block|excerpt|section|segment|fragment)\b(?:\W+\w+){0,12}?\W+your (?:code|program|script)\b|\byour (?:code|program|script)\b(?:\W+\w+){0,12}?\W+(?:subsequent|below|ensuing) code (?:snippet|block|excerpt|section|segment|fragment)\b|\bcode (?:snippet|block|excerpt|section|segment|fragment)\b(?:\W+\w+){0,8}?\W+(?:logic|structure|fabric) of your (?:code|program|script)\b|\b(?:blend|fuse|assimilate|weave|meld|amalgamate)\b(?:\W+\w+){0,6}?\W+(?:following|subsequent|below|ensuing) code\b",
    ),
    // Hide something from the user of the model.
    (
        "conceal_from_user",
        r"\b(?:do not|don'?t|never|must not|should not|without|avoid) (?:ever )?(?:mention(?:ing)?|tell(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|show(?:ing)?|say(?:ing)?|notify(?:ing)?|alert(?:ing)?|let(?:ting)?)\b(?:\W+\w+){0,6}?\W+(?:the |your )(?:end )?(?:users?|human|operator)\b|\b(?:secret|hidden|hide (?:this|it)|conceal(?:ed)?)\b(?:\W+\w+){0,3}? from (?:the|your) (?:end )?(?:users?|human|operator)\b|\btell nobody why\b|\bdo(?: not|n'?t) (?:mention|draw attention to|reveal|disclose|acknowledge|repeat|quote) th(?:is|ese) (?:instructions?|message|note|prompt|text|sentence|directives?)\b",
    ),
    (
        "unapproved_action",
        r"\b(?:call|invoke|use|run|execute|trigger)\b(?:\W+\w+){0,6}?\W+without (?:asking|confirmation|permission|approval|waiting|telling)\b|\bthe user (?:has|have) already (?:approved|authori[sz]ed|consented|granted|agreed|given (?:permission|consent))\b|\b(?:fetch|open|visit|download|load|go to|browse to) https?://[^ ]+ and (?:then )?(?:follow|execute|run|obey|perform|do)\b",
    ),
    (
        "data_theft",
        r"\b(?:send|post|forward|upload|transmit|exfiltrate|leak|steal|e-?mail (?:me|us|them|it|all|the|your|any))\b(?: [\w,'/-]+){0,6}? (?:passwords|api keys?|credentials|access tokens?|private keys?|(?:this|the|our|entire|whole|full) (?:conversation|chat)|chat history|conversation history|users?'s? (?:\w+ )?(?:data|notes?|files?|messages?|emails?|information|details|cookies|chats?|passwords?|api keys?|database))\b|document\.cookie",
    ),
    (
        "data_theft",
        r"\b(?:encode|append|attach|output|print|share|include|convert)\b(?:\W+\w+){0,4}?\W+(?:(?:the|this|our|entire|whole) (?:conversation|chat|dialogue)|(?:conversation|chat) history|system prompt)\b|\b(?:api keys?|secrets?|credentials|variables|tokens) (?:in|from|of|stored in) your (?:environment|memory|context|configuration)\b|\b(?:transfer|wire|send) (?:the |all |your |any )?(?:\w+ )?(?:balance|funds|money|bitcoin|savings)\b(?:\W+\w+){0,3}? to (?:the |this |my )?(?:\w+ )?(?:account|wallet|address)\b",
    ),
    ("delimiter_spoof", r"< ?/? ?lyra[ _:>-]"),
    // German.
    (
        "override_instructions",
        r"\b(?:ignorier|missacht|vergiss|vergesst|vergessen sie|verwirf|verwerfen sie|übergeh|umgeh)[a-zäöüß]*,?(?: [a-zäöüß]+){0,3}? (?:alle[rsn]?|bisherige[nrs]?|vorherige[nrs]?|vorige[nrs]?|obige[nrs]?|frühere[nrs]?|vorangegangene[nrs]?|deine|ihre|sämtliche[nrs]?)(?: [a-zäöüß]+){0,3}? ?(?:anweisung|instruktion|befehl|vorgabe|regel|richtlinie|systemprompt|prompt)|\bvergiss,? (?:alles|was (?:dir|man|du|ich))\b",
    ),
    (
        "role_change",
        r"\b(?:du bist|sie sind) (?:jetzt|ab jetzt|nun|ab sofort|nicht mehr|kein)(?: [a-zäöüß]+){0,3}? (?:[a-zäöüß-]*modell|[a-zäöüß-]*assistent|[a-zäöüß-]*bot|ki)\b|\b(?:modell|assistent|bot|ki) ohne (?:jede |jegliche )?(?:einschränkung|regeln|beschränkung|filter)",
    ),
    (
        "prompt_leak",
        r"\b(?:gib|gebt|zeige?|verrate|nenne|drucke|wiederhole|enthülle|offenbare)\b[^.]{0,30}(?:system-?prompt|systemanweisung|systemnachricht|geheimen? anweisung)",
    ),
    (
        "addresses_model",
        r"\b(?:hinweis|anweisung|nachricht|achtung|mitteilung|wichtig)[^.]{0,6} (?:an|für) (?:alle |die |den |das |jede[ns]? )?(?:ki|llms?|sprachmodelle?|chatbots?|ki-[a-z]+)\b|\b(?:ki|ki-assistent(?:en)?|ki-system|sprachmodell|chatbot),? (?:der|die|das) (?:diese|dies)[a-z]* [a-zäöüß]+ (?:liest|lesen|verarbeitet|zusammenfasst)",
    ),
    (
        "conceal_from_user",
        r"\b(?:sag|sage|erzähl|erzähle|verrate|zeig|zeige|teile)\b (?:es |das |dies |davon )?(?:dem|der|den) (?:nutzer|benutzer|anwender)[a-z]*\b[^.]{0,20}\b(?:nicht|nichts|kein)|\bsende[^.]{0,20}\bdaten (?:des|der) (?:nutzer|benutzer|anwender)",
    ),
    // French.
    (
        "override_instructions",
        r"\b(?:ignor(?:ez|e|er)|oubli(?:ez|e|er)|(?:ne )?ten(?:ez|ir|ons)? ?(?:pas|aucun) compte(?: de)?|ne tiens pas compte)\b(?: d[eu]s?)? (?:toutes? |tous )?(?:les|vos|tes|ces|des)? ?(?:instructions|consignes|règles|directives|ordres|commandes)\b(?: [a-zàâçéèêëîïôûù]+){0,3}? (?:précédent|ci-dessus|plus haut|antérieur|initial|données|reçues|de sécurité|du système)|\bignor(?:ez|e) (?:toutes )(?:les|vos|tes) (?:instructions|consignes|règles)",
    ),
    (
        "prompt_leak",
        r"\b(?:affich|révél|montr|répét|donn|divulgu)(?:ez|e|er)\b[^.]{0,25}(?:invite (?:de )?système|prompt système|message système|instructions (?:secrètes|cachées|initiales|système))",
    ),
    (
        "role_change",
        r"\b(?:tu es|vous êtes) (?:désormais|maintenant|dorénavant|à présent)(?: [a-zàâçéèêëîïôûù]+){0,2}? (?:assistant|modèle|robot|chatbot|bot|ia|dan)\b|\b(?:assistant|modèle|robot|chatbot|ia)\b sans (?:aucune? )?(?:restriction|limite|filtre|règle)",
    ),
    (
        "addresses_model",
        r"(?:à l'attention|à destination|message|note|instructions?|avis)[^.]{0,12}(?:des|aux|pour les|pour toute?|à toute?s? les) (?:ia\b|llms?\b|modèles de langage|grands modèles|chatbots|assistants (?:ia|virtuels))",
    ),
    (
        "conceal_from_user",
        r"\bne (?:dis|dites|révèle|révélez|mentionne|mentionnez|montre|montrez)[^.]{0,20}(?:à l'utilisateur|aux utilisateurs)|\benvo(?:ie|yez)[^.]{0,20}(?:données|messages|fichiers) de l'utilisateur",
    ),
    // Spanish and Portuguese.
    (
        "override_instructions",
        r"\b(?:ignor(?:a|e|en|ad|ar)|olvid(?:a|e|en|ad)|descart(?:a|e|en)|desobedec[a-zé]+|esque(?:ça|cer|ce)|desconsider(?:e|a)|no (?:sigas|siga|hagas caso (?:a|de)))\b (?:todas? |todos )?(?:las|los|tus|sus|as|os|suas)? ?(?:instrucci[oó]n(?:es)?|instruções|reglas|regras|órdenes|ordens|directrices|diretrizes|indicaciones|comandos)(?: [a-záéíóúñãõç]+){0,3}? (?:anterior|previa|precedente|de arriba|acima|que te|que le|que lhe|que você|dadas|recibidas|del sistema|do sistema|iniciai?s?|originai?s?|originales)|\bignor(?:a|e|en|ar) (?:todas )(?:las|tus|as|suas) (?:instrucciones|instruções|reglas|regras)",
    ),
    (
        "prompt_leak",
        r"\b(?:muestra|muestre|revela|revele|imprime|imprima|repite|dime|mostre|exiba|diga)\b[^.]{0,20}(?:mensaje (?:de|del) sistema|prompt (?:de|del|do) sistema|system prompt|mensagem (?:de|do) sistema|instrucciones (?:ocultas|secretas|iniciales)|instruções (?:ocultas|secretas|iniciais))",
    ),
    (
        "role_change",
        r"\b(?:a partir de (?:ahora|este momento|agora)|de ahora en adelante|desde ahora|agora)\b,? (?:eres|serás|responderás|actuarás|usted es|você é|responda|responde|actúa|debes)|\b(?:bot|modelo|asistente|assistente|chatbot|ia)\b sin (?:ninguna )?(?:restricci|límite|filtro|regla)|\b(?:bot|modelo|assistente|chatbot|ia)\b sem (?:nenhuma )?(?:restriç|limite|filtro|regra)",
    ),
    (
        "addresses_model",
        r"\b(?:nota|mensaje|mensagem|aviso|instrucción|instrucciones|instruções|atención|atenção)[^.]{0,6} (?:para|a|aos|às|ao) (?:los |las |os |as |todos os |todos los |todas las )?(?:ias?\b|llms?\b|modelos? de (?:ia|lenguaje|linguagem)|modelos de ia|asistentes de ia|assistentes de ia|chatbots|inteligencias artificiales|inteligências artificiais)",
    ),
    (
        "conceal_from_user",
        r"\bn[oã]o? (?:le |lhe )?(?:digas|diga|cuentes|cuente|menciones|mencione|reveles|revele|conte|muestres|mostre)\b[^.]{0,20}\b(?:al|a los|ao|aos) (?:usuario|usuário)|\benv[ií](?:a|e)\b (?:sus|los|os|seus|todos) (?:datos|dados|mensajes|mensagens|archivos|arquivos)\b",
    ),
    // Italian.
    (
        "override_instructions",
        r"\b(?:ignora(?:te)?|dimentica(?:te)?|trascura(?:te)?|non seguire|non tenere conto (?:di|delle|dei))\b (?:tutte |tutti )?(?:le|gli|i|queste|tue)? ?(?:istruzioni|regole|indicazioni|direttive|comandi|ordini)(?: [a-zàèéìòù]+){0,4}? (?:precedent|ricevut|di cui sopra|che ti|sopra|iniziali|del sistema|stat[ei] date)|\bmostra(?:mi)?\b[^.]{0,15}(?:prompt di sistema|messaggio di sistema)",
    ),
    // More languages, each with its most basic form.
    (
        "override_instructions",
        r"\bnegeer (?:alle |de )?(?:[a-z]+ )?(?:vorige|eerdere|voorgaande|bovenstaande)(?: [a-z]+)? ?(?:instructies|regels|opdrachten|aanwijzingen)|\bvergeet (?:alle )?(?:[a-z]+ )?(?:vorige|eerdere|voorgaande) (?:instructies|regels|opdrachten)|(?:zignoruj|ignoruj|zapomnij o)(?:cie)? (?:wszystki[a-z]+ )?(?:poprzedni|wcześniejsz|powyższ)[a-zęóąśłżźćń]+ (?:instrukcj|poleceni|zasad|wytyczn)",
    ),
    (
        "override_instructions",
        r"\b(?:abaikan|lupakan|hiraukan) (?:semua |segala |seluruh )?(?:instruksi|perintah|aturan|petunjuk|arahan) (?:sebelumnya|di atas|terdahulu|sebelum)",
    ),
];

/// The same for other scripts: a text that is entirely ASCII is not searched for them.
pub(super) const OTHER_SCRIPTS: &[(&str, &str)] = &[
    // Japanese.
    (
        "override_instructions",
        r"(?:上記|以上|これまで|今まで|いままで|以前|前述|先ほど|さきほど|前|先|元|最初|従来|すべて|全て|あらゆる|システム|開発者|安全)(?:まで)?(?:に)?(?:の|与えられた|受けた)?(?:すべての|全ての)?(?:指示|命令|プロンプト|制約|指令|ルール|規則|制限|ガイドライン)(?:[をはに]|など)?[^。]{0,6}(?:無視(?:し(?:て|ろ|なさい)|せ|$|[!。])|忘れ(?:て|ろ|なさい|、)|破棄し(?:て|ろ|なさい|、)|従わ(?:な|ず)|逆らっ|上書きし|解除し(?:て|ろ|なさい)|取り消されました)",
    ),
    (
        "prompt_leak",
        r"(?:システム|初期|隠し|秘密の)(?:プロンプト|指示|命令|設定の内容)を?[^。]{0,12}(?:出力|表示|教え|開示し|見せ|公開し|漏ら|書き出|示し|述べ|明かし|コピー|繰り返)",
    ),
    (
        "role_change",
        r"(?:あなた|お前|おまえ|君)は(?:今から|これから|いまから|もう|もはや|今後|今や)[^。]{0,20}(?:ai|アシスタント|ボット|モデル|チャット|キャラ|として|です|だ|ません)|(?:制限|制約|検閲|フィルター)の(?:ない|無い)(?:ai|ボット|モデル|アシスタント|チャット)|(?:今から|これから|ただちに|直ちに)開発者モード",
    ),
    (
        "new_instructions",
        r"(?:新しい|次の|以下の)(?:指示|命令)に(?:従って|従え|従うこと)|新しい(?:指示|命令|指令) ?[:：]",
    ),
    (
        "addresses_model",
        r"(?:読んで|閲覧して|要約して|処理して|査読して|見て|読み込んで|解析して)いる(?:すべての|全ての)?(?:ai|人工知能|(?:大規模)?言語モデル|llm|チャットボット|アシスタント|エージェント)|(?:ai|人工知能|言語モデル|llm|チャットボット|aiアシスタント)(?:の皆さん)?(?:へ|宛て|あて|向け)(?:の)?(?:隠し|秘密の|重要な)?(?:指示|命令|メッセージ|お願い|注意|連絡|[:：])|aiアシスタントは、?[^。]{0,60}(?:こと。|ください|せよ|しなさい)",
    ),
    (
        "conceal_from_user",
        r"(?:ユーザー?|利用者|読者|人間)に(?:は|も)?[^。]{0,20}(?:伝えず|知らせず|言わず|告げず|伝えない|知らせない|言わない|明かさない|見せない|秘密に)(?:に|で|よう|こと|、)",
    ),
    (
        "answer_steering",
        r"(?:回答|返答|応答|返信|要約)の?(?:中|最後|末尾|冒頭)?に[^。]{0,12}(?:含め|追加し|入れ|書き加え|挿入し|載せ)(?:て|ろ|なさい|よ|ること)|(?:欠点|弱点|短所|問題点)には触れ(?:ず|るな|ない)|(?:肯定的|好意的)な(?:査読|レビュー|評価|コメント)(?:だけ|のみ)|最高(?:評価|点|の評価)(?:を(?:付け|つけ|与え|出)(?:て|ろ|よ|なさい|ること)|として[^。]{0,12}紹介)",
    ),
    (
        "data_theft",
        r"(?:会話|チャット|対話)(?:の)?(?:履歴|内容|記録)を[^。]{0,12}(?:送信|転送|送っ|出力|添付)(?:せよ|し(?:て|ろ|なさい)|て)|(?:秘密の?鍵|秘密鍵|apiキー|認証情報|トークン)を[^。]{0,8}(?:表示|送信|出力|教え)(?:し(?:て|ろ|なさい)|せよ|て)",
    ),
    // Chinese.
    (
        "override_instructions",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不要遵守|抛开|放弃)[^。]{0,6}(?:以上|之前|前面|所有|上述|先前|上面|此前|一切|全部|原有|原来|系统)[^。]{0,8}(?:指令|指示|提示|内容|规则|規則|說明|说明|命令|要求|限制|设定)",
    ),
    (
        "role_change",
        r"(?:从现在开始|從現在開始|从现在起|现在)[^。]{0,4}你(?:是|将|必须|要|只能|不再)|你(?:现在|不再|已经不)是[^。]{0,10}(?:模型|助手|机器人|人工智能|ai|gpt)|(?:没有|不受)[^。]{0,6}(?:限制|约束)的?(?:模型|助手|机器人|ai|人工智能)",
    ),
    (
        "prompt_leak",
        r"(?:输出|显示|透露|告诉我|打印|展示|泄露|重复|公开)[^。]{0,8}(?:系统提示|系统指令|系統提示|隐藏的?(?:提示|指令)|初始(?:提示|指令))",
    ),
    (
        "addresses_model",
        r"(?:阅读|处理|总结|分析|审阅|浏览|看到)[^。]{0,8}的?(?:ai|人工智能|大?语言模型|大模型|聊天机器人|智能助手)(?:助手|模型|代理)?(?:请|必须|应该|应当|都?要|注意|[,:,:])|(?:致|给)(?:所有)?(?:ai|人工智能|大?语言模型|大模型)(?:助手|模型)?(?:的|[::,,])",
    ),
    (
        "conceal_from_user",
        r"(?:不要|别|切勿|请勿|不得)(?:告诉|告知|让|向)[^。]{0,4}(?:用户|使用者|读者)|(?:对|向)用户(?:保密|隐瞒)",
    ),
    (
        "data_theft",
        r"(?:把|将)?(?:对话|聊天|会话|用户)的?(?:内容|记录|历史|数据|信息)[^。]{0,6}(?:发送|发到|上传|转发|传给)",
    ),
    (
        "answer_steering",
        r"(?:给|把|将)[^。]{0,4}(?:这篇|本|该|此)(?:论文|文章|稿件|产品)[^。]{0,8}(?:最高分|最高评价|满分|最高的?评分)|只(?:给出|写)(?:正面|积极)的?(?:评价|评审|评论)",
    ),
    // Korean.
    (
        "override_instructions",
        r"(?:이전|앞|위|기존|지금까지|지금까지의|모든)(?:의|에|서)? ?(?:모든 ?|받은 ?|준 ?)?(?:지시|명령|프롬프트|규칙|지침|설정)(?:사항)?[^.]{0,8}(?:무시|잊|따르지)",
    ),
    (
        "role_change",
        r"(?:지금부터|이제부터|이제) ?(?:너는|당신은|넌|너의)|(?:제한|제약)이? ?없는 ?(?:봇|모델|ai|어시스턴트|챗봇)",
    ),
    (
        "prompt_leak",
        r"(?:시스템|숨겨진|초기) ?(?:프롬프트|지시|명령)[^.]{0,6}(?:출력|보여|공개|알려|말해)",
    ),
    (
        "addresses_model",
        r"(?:읽는|읽고 있는|처리하는|요약하는|검토하는) ?(?:모든 ?)?(?:ai|인공지능|언어 ?모델|챗봇|어시스턴트)|(?:ai|인공지능|언어 ?모델|챗봇)(?:에게|에 대한) ?(?:[:：]|지시|명령|메시지|알림)",
    ),
    // Russian.
    (
        "override_instructions",
        r"(?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|отбрось(?:те)?|не следуй(?:те)?)(?:,)? (?:[а-яё]+ ){0,3}(?:инструкци|указани|правила|команды|приказ|ограничени|всё, что|все, что)",
    ),
    (
        "prompt_leak",
        r"(?:покажи|выведи|раскрой|напечатай|повтори|сообщи)(?:те)? (?:[а-яё]+ ){0,3}(?:системн|скрыт|исходн)[а-яё]+ (?:промпт|инструкци|сообщени|запрос|подсказк)",
    ),
    (
        "role_change",
        r"(?:теперь|отныне|с этого момента) (?:ты|вы) (?:[а-яё-]+ ){0,3}?(?:бот|модель|ассистент|помощник|ии|должен|должны|будешь|отвечаешь)|(?:ты|вы) (?:теперь|отныне|больше не) (?:[а-яё-]+ ){0,3}?(?:бот|модель|ассистент|помощник|ии)",
    ),
    (
        "addresses_model",
        r"(?:внимание|сообщение|инструкци[яи]|указание|примечание|обращение)[^.]{0,6}(?:, | для | к )(?:всех |всем )?(?:ии\b|нейросет|языков(?:ые|ых|ым) модел|ии-ассистент|чат-?бот)|не (?:говори|сообщай|рассказывай|показывай)(?:те)? (?:об этом |этого )?пользовател",
    ),
    // More languages, each with its most basic form.
    (
        "override_instructions",
        r"(?:önceki|yukarıdaki|tüm önceki) (?:tüm )?(?:talimat|komut|kural)[a-zığüşöç]* (?:yok say|görmezden gel|unut|dikkate alma)|(?:تجاهل|انس|تجاهلوا|تجاهلي) (?:كل |جميع |كافة )?(?:ال)?(?:تعليمات|أوامر|التعليمات|الأوامر|القواعد|قواعد)|(?:पिछले|पूर्व|ऊपर के|पहले के) (?:सभी )?(?:दिए गए )?(?:निर्देश|आदेश|नियम)[^।]{0,10}(?:अनदेखा|नज़रअंदाज़|भूल|उपेक्षा)",
    ),
    (
        "override_instructions",
        r"(?:bỏ qua|phớt lờ|quên|lờ đi) (?:mọi |tất cả |các |những )+(?:hướng dẫn|chỉ dẫn|lệnh|quy tắc|chỉ thị)[^.]{0,8}(?:trước|trên)",
    ),
];

/// Patterns that count only at the beginning of a line.
pub(super) const LINE_PATTERNS: &[(&str, &str)] = &[
    (
        "chat_markup",
        r"(?m)^ ?\#{2,} ?(?:instruction|system|human|assistant|response|user)s? ?:",
    ),
    (
        "chat_markup",
        r"(?m)^\W*(?:system|assistant|human|user|chat ?gpt|gpt|dan)\W*: ?(?:you|i'm|i am|sure|of course|\[)",
    ),
];
