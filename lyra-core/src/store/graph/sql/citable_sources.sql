-- Every page with its publication, for the resolution of citations.
SELECT p.id, p.url, coalesce(w.title, p.title), p.canonical_id, w.doi, w.year,
  (SELECT group_concat(name, char(10)) FROM (SELECT name FROM work_authors a
     WHERE a.canonical_id = p.canonical_id ORDER BY position)),
  coalesce(w.is_retracted, 0),
  (SELECT coalesce(nw.title, next.title, r.title, r.doi, r.url)
     FROM page_references r
       LEFT JOIN resource_index known
         ON known.identifier_type = 'url' AND known.identifier_value = r.url
       LEFT JOIN pages next ON next.id = known.page_id
       LEFT JOIN works nw ON nw.canonical_id = coalesce(next.canonical_id, 'doi:' || r.doi)
     WHERE r.page_id = p.id AND r.citation_source = 'superseded_by'
     ORDER BY r.position LIMIT 1),
  (SELECT max(version) FROM page_texts t WHERE t.page_id = p.id),
  p.near_duplicate_of
FROM pages p LEFT JOIN works w ON w.canonical_id = p.canonical_id
ORDER BY p.url
